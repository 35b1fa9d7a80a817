import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** What identifies a person at an OpenID provider. */
export interface IdentityName {
  /** The provider's URL. */
  readonly issuer: string;
  /** The provider's ID of the person, which it never gives to another one. */
  readonly subject: string;
}

/** The identity of a user at a provider. */
export interface Identity {
  readonly subject: string;
  /** The email address at the provider when the identity was linked; null without one. */
  readonly email: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** Finds the user with whom an identity is linked. */
export async function findIdentityUser(db: Db, name: IdentityName): Promise<UserId | undefined> {
  const row = await db
    .selectFrom("identities")
    .select("user_id")
    .where("issuer", "=", name.issuer)
    .where("subject", "=", name.subject)
    .executeTakeFirst();
  return row?.user_id;
}

/** Finds the identity of a user at a provider. */
export async function findIdentity(db: Db, userId: UserId, issuer: string): Promise<Identity | undefined> {
  return await db
    .selectFrom("identities")
    .select(["subject", "email", "created_at as createdAt", "last_used_at as lastUsedAt"])
    .where("user_id", "=", userId)
    .where("issuer", "=", issuer)
    .executeTakeFirst();
}

/**
 * Links an identity with a user.
 * @returns false if the identity is already linked to a user, or the user has another identity at this provider.
 */
export async function insertIdentity(
  trx: Trx,
  userId: UserId,
  { issuer, subject, email }: IdentityName & { readonly email: string | null },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto("identities")
    .values({ issuer, subject, user_id: userId, email, last_used_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Records that a user signed in with an identity. Returns false if it is no longer linked to the user. */
export async function recordIdentityUse(
  trx: Trx,
  userId: UserId,
  { issuer, subject }: IdentityName,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("identities")
    .set({ last_used_at: sql`clock_timestamp()` })
    .where("issuer", "=", issuer)
    .where("subject", "=", subject)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Unlinks the identity of a user at a provider. Returns false if there is none. */
export async function deleteIdentity(trx: Trx, userId: UserId, issuer: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("identities")
    .where("user_id", "=", userId)
    .where("issuer", "=", issuer)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Unlinks all identities of a user, and returns them. */
export async function deleteAllIdentities(trx: Trx, userId: UserId): Promise<{ issuer: string }[]> {
  return await trx.deleteFrom("identities").where("user_id", "=", userId).returning("issuer").execute();
}
