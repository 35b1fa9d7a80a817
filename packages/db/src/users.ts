import { sql } from "kysely";
import { createId, type UserId, type WorkspaceId } from "./ids.ts";
import { bumpOwnerVersions } from "./owner-versions.ts";
import { withSavepoint } from "./savepoint.ts";
import type { Db, Trx } from "./schema.ts";
import { isUniqueViolation } from "./sqlstate.ts";
import { isPerson, selectEmail, selectUserKind, type UserKind } from "./user-kind.ts";

/** A person who can sign in. */
export interface User {
  readonly id: UserId;
  readonly email: string;
  readonly name: string;
  readonly isDisabled: boolean;
  /** Whether the user is an operator of the instance. The first account is one. */
  readonly isOperator: boolean;
  readonly createdAt: Date;
}

/**
 * Adds a user who signs in with a password. Returns undefined if the email address has an account.
 * @param user.email in lower case.
 */
export async function insertUserWithPassword(
  trx: Trx,
  user: { readonly email: string; readonly name: string; readonly passwordHash: string },
): Promise<UserId | undefined> {
  const id = await insertUser(trx, { ...user, isEmailVerified: false });
  if (id) await insertPassword(trx, id, user.passwordHash);
  return id;
}

/** Adds a user without a password. Returns undefined if the email address has an account. */
export async function insertUser(
  trx: Trx,
  {
    email,
    name,
    isEmailVerified,
  }: {
    /** In lower case. */
    readonly email: string;
    readonly name: string;
    readonly isEmailVerified: boolean;
  },
): Promise<UserId | undefined> {
  const row = await trx
    .insertInto("users")
    .values({ id: createId("user"), email, name, email_verified: isEmailVerified })
    .onConflict((conflict) => conflict.column("email").doNothing())
    .returning("id")
    .executeTakeFirst();
  return row?.id;
}

async function insertPassword(trx: Trx, userId: UserId, hash: string): Promise<void> {
  await trx
    .insertInto("accounts")
    .values({
      id: createId("account"),
      user_id: userId,
      account_id: userId,
      provider_id: "credential",
      password: hash,
    })
    .execute();
}

/** Whether the user can read mail to their email address. */
export async function hasVerifiedEmail(db: Db, id: UserId): Promise<boolean> {
  const query = db.selectFrom("users").select("email_verified").where("id", "=", id);
  return (await query.executeTakeFirst())?.email_verified ?? false;
}

/** Finds a user by email address, which must be in lower case. */
export async function findUserByEmail(db: Db, email: string): Promise<User | undefined> {
  return await selectUsers(db).where("email", "=", email).executeTakeFirst();
}

/** Finds the user who has confirmed this email address. */
export async function findVerifiedUserId(db: Db, email: string): Promise<UserId | undefined> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("email", "=", email)
    .where("email_verified", "=", true)
    .executeTakeFirst();
  return row?.id;
}

export async function findUser(db: Db, id: UserId): Promise<User | undefined> {
  return await selectUsers(db).where("id", "=", id).executeTakeFirst();
}

/** Returns a page of the instance's users, ordered by ID, after the user `after`. */
export async function listUsers(
  db: Db,
  { after, limit }: { readonly after: UserId | undefined; readonly limit: number },
): Promise<User[]> {
  const query = selectUsers(db).orderBy("id").limit(limit);
  return await (after ? query.where("id", ">", after) : query).execute();
}

/** The owner of an API key: a person or a service account. */
export interface KeyOwner {
  readonly id: UserId;
  readonly kind: UserKind;
  readonly name: string;
  /** Null for a service account. */
  readonly email: string | null;
  /** The workspace of a service account; null for a person. */
  readonly serviceWorkspaceId: WorkspaceId | null;
  readonly isDisabled: boolean;
}

export async function findKeyOwner(db: Db, id: UserId): Promise<KeyOwner | undefined> {
  return await db
    .selectFrom("users")
    .select([
      "id",
      selectUserKind().as("kind"),
      "name",
      selectEmail().as("email"),
      "service_workspace_id as serviceWorkspaceId",
      sql<boolean>`disabled_at is not null`.as("isDisabled"),
    ])
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Reads the hash of a user's password; undefined for a user without a password. */
export async function findPasswordHash(db: Db, userId: UserId): Promise<string | undefined> {
  const account = await db
    .selectFrom("accounts")
    .select("password")
    .where("user_id", "=", userId)
    .where("provider_id", "=", "credential")
    .executeTakeFirst();
  return account?.password ?? undefined;
}

/**
 * Replaces the hash of a user's password. Returns false if it is no longer `former`, because another request has
 * replaced it.
 */
export async function replacePasswordHash(
  trx: Trx,
  userId: UserId,
  { former, next }: { readonly former: string; readonly next: string },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("accounts")
    .set({ password: next, updated_at: sql`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("provider_id", "=", "credential")
    .where("password", "=", former)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Sets the hash of a user's password, whatever the former one is. Lock the user first: the user may have none. */
export async function setPasswordHash(trx: Trx, userId: UserId, hash: string): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable("accounts")
    .set({ password: hash, updated_at: sql`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("provider_id", "=", "credential")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) await insertPassword(trx, userId, hash);
}

/**
 * Changes the email address of a user. Returns false if it belongs to another account.
 * @param change.email in lower case.
 */
export async function changeUserEmail(
  trx: Trx,
  id: UserId,
  { email, isVerified }: { readonly email: string; readonly isVerified: boolean },
): Promise<boolean> {
  const changed = await withSavepoint(trx, async () => {
    try {
      await trx
        .updateTable("users")
        .set({ email, email_verified: isVerified, updated_at: sql`clock_timestamp()` })
        .where("id", "=", id)
        .execute();
      return true;
    } catch (error) {
      if (isUniqueViolation(error)) return undefined;
      throw error;
    }
  });
  return changed ?? false;
}

/**
 * Records that a user can read email sent to their email address. Returns false if the email address was already
 * verified.
 */
export async function markEmailVerified(trx: Trx, id: UserId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("users")
    .set({ email_verified: true, updated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .where("email_verified", "=", false)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Changes the name of a user. Returns the former one. */
export async function renameUser(trx: Trx, id: UserId, name: string): Promise<string> {
  const { former } = await trx
    .selectFrom("users")
    .select("name as former")
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirstOrThrow();
  await trx
    .updateTable("users")
    .set({ name, updated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .execute();
  return former;
}

/** Whether the instance has any user. The first account becomes the operator. */
export async function hasAnyUser(db: Db): Promise<boolean> {
  return (await db.selectFrom("users").select("id").limit(1).executeTakeFirst()) !== undefined;
}

/**
 * Disables a user. Deletes all of the user's sessions and increments the versions of the user's keys, so that every
 * node rejects the keys on the next request. Can be repeated.
 * @returns whether the user was enabled before.
 */
export async function disableUser(trx: Trx, id: UserId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("users")
    .set({ disabled_at: sql`clock_timestamp()`, updated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  await trx.deleteFrom("sessions").where("user_id", "=", id).execute();
  await bumpOwnerVersions(trx, [id]);
  return numUpdatedRows > 0n;
}

/**
 * Enables a user again, who can then sign in, and whose keys are valid again. Sessions that were ended stay ended. Can
 * be repeated.
 * @returns whether the user was disabled before.
 */
export async function enableUser(trx: Trx, id: UserId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("users")
    .set({ disabled_at: null, updated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .where("disabled_at", "is not", null)
    .executeTakeFirst();
  // A sign-in that was in flight while the user was disabled may have added a session after the others were deleted.
  if (numUpdatedRows > 0n) await trx.deleteFrom("sessions").where("user_id", "=", id).execute();
  await bumpOwnerVersions(trx, [id]);
  return numUpdatedRows > 0n;
}

function selectUsers(db: Db) {
  return db
    .selectFrom("users")
    .select([
      "id",
      "email",
      "name",
      "is_operator as isOperator",
      "created_at as createdAt",
      (eb) => eb("disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
    ])
    .where(isPerson());
}
