import { sql } from "kysely";
import type { InvitationId, UserId } from "./ids.ts";
import { lockCountersOf } from "./key-counters.ts";
import { lockUsers } from "./members.ts";
import type { Role } from "./role.ts";
import type { Db, Trx } from "./schema.ts";
import { isPerson } from "./user-kind.ts";
import type { User } from "./users.ts";
import { deleteVerifications } from "./verifications.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Locks a user against every other change, including new rows that refer to the user, until the transaction ends. Unlike
 * `lockUsers`, it takes the strongest lock immediately: a transaction that upgraded its lock for the deletion could deadlock
 * with one that has just added such a row. Returns false if the user no longer exists.
 * @param others users to lock too, as `lockUsers` does, in the order of all IDs.
 */
export async function lockUserForDeletion(
  trx: Trx,
  id: UserId,
  others: readonly UserId[] = [],
): Promise<boolean> {
  await lockUsers(
    trx,
    others.filter((other) => other < id),
  );
  const row = await trx.selectFrom("users").select("id").where("id", "=", id).forUpdate().executeTakeFirst();
  await lockUsers(
    trx,
    others.filter((other) => other > id),
  );
  return row !== undefined;
}

/**
 * Makes sign-ups wait until the transaction ends. The next account of an instance without users becomes the operator,
 * and a sign-up that still saw the operator would leave the instance without one. Only for the deletion of the last person,
 * because every change to `users` waits too. Call it before any lock on a row.
 */
export async function lockSignUps(trx: Trx): Promise<void> {
  await sql`lock table users in share row exclusive mode`.execute(trx);
}

/** Whether the instance has a person other than this one. */
export async function hasOtherUser(db: Db, id: UserId): Promise<boolean> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("id", "!=", id)
    .where(isPerson())
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The API keys that stop working if their owner is deleted: not those that are disabled or expired, or of a disabled owner. */
export interface KeySummary {
  readonly keyCount: number;
  /** When one of them was last used. */
  readonly lastUsedAt: Date | null;
}

export async function summarizeKeys(db: Db, userId: UserId): Promise<KeySummary> {
  return await db
    .selectFrom("api_keys")
    .innerJoin("users", "users.id", "api_keys.user_id")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .select((eb) => [
      eb.fn.countAll<number>().as("keyCount"),
      eb.fn.max("key_counters.last_used_at").as("lastUsedAt"),
    ])
    .where("api_keys.user_id", "=", userId)
    .where("api_keys.deleted_at", "is", null)
    .where("api_keys.disabled_at", "is", null)
    .where("users.disabled_at", "is", null)
    .where(sql<boolean>`coalesce(api_keys.expires_at > clock_timestamp(), true)`)
    .executeTakeFirstOrThrow();
}

/** Lists the invitations to a workspace that a user sent. */
export async function listSentInvitations(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<{ id: InvitationId; email: string; role: Role }[]> {
  return await trx
    .selectFrom("invitations")
    .select(["id", "email", "role"])
    .where("workspace_id", "=", scope.workspaceId)
    .where("invited_by", "=", userId)
    .orderBy("id")
    .execute();
}

/**
 * Deletes a user with the password, sessions, memberships, API keys and everything else that belongs to them, and keeps the name
 * for audit logs. The purge deletes the records of their verifications later (docs/decisions/0086). After the commit, every node
 * rejects the keys. Lock the user with {@link lockUserForDeletion} first, and call this last in the transaction.
 */
export async function deleteUser(trx: Trx, { id, name }: Pick<User, "id" | "name">): Promise<void> {
  await trx.insertInto("former_users").values({ id, name }).execute();
  for (const purpose of [
    "password-reset",
    "emailed-password-reset",
    "email-verification",
    "email-change",
    "second-factor",
  ] as const)
    await deleteVerifications(trx, { purpose, subject: id });
  // No statement of admission waits for the counters of deleted keys, because their versions have changed. There can be
  // very many, so they are deleted before the counters of usable keys are locked.
  await trx.deleteFrom("api_keys").where("user_id", "=", id).where("deleted_at", "is not", null).execute();
  await trx.deleteFrom("owner_versions").where("owner_id", "=", id).execute();
  await lockCountersOf(trx, trx.selectFrom("users").select("id").where("id", "=", id));
  await trx.deleteFrom("users").where("id", "=", id).execute();
}
