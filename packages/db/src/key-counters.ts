import { type RawBuilder, sql } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyId, UserId, WorkspaceId } from "./ids.ts";
import type { Trx } from "./schema.ts";

/** Inserts the row that counts the uses of a new key or consumer, with version 1 and no uses. */
export async function insertKeyCounter(trx: Trx, keyId: KeyId | ConsumerId): Promise<void> {
  await trx.insertInto("key_counters").values({ key_id: keyId }).execute();
}

/**
 * Increments the versions of keys. This invalidates the facts that nodes remember: the next request with each key reads
 * the key again.
 *
 * Call it last in the transaction, so that admission waits for these rows only during the commit. The rows are locked
 * in the order of their keys, as admission locks them, so that the two can't deadlock.
 *
 * @param keys.windowSeconds the new window of the key's rate limit, in seconds. The current window then ends no later
 *   than a window that starts now, and its used quota is kept.
 * @param keys.workspaceId only keys that can reach this workspace. The users must be locked, so that no other key of
 *   theirs is given access to the workspace concurrently.
 * @param keys.hasNewSecret whether the key was given another secret in this transaction, which no request has used.
 */
export async function bumpKeyVersions(
  trx: Trx,
  keys:
    | {
        readonly keyId: KeyId;
        readonly windowSeconds?: number | undefined;
        readonly hasNewSecret?: true;
      }
    | { readonly keyIds: readonly (KeyId | IssuedKeyId)[] }
    | { readonly userIds: readonly UserId[]; readonly workspaceId?: WorkspaceId },
): Promise<void> {
  const chosen = chooseKeys(keys);
  const seconds = "keyId" in keys ? keys.windowSeconds : undefined;
  const latest = sql`clock_timestamp() + ${seconds}::integer * interval '1 second'`;
  const window = seconds
    ? sql`, window_ends_at = case when window_ends_at > ${latest} then ${latest} else window_ends_at end`
    : sql``;
  const secret = "keyId" in keys && keys.hasNewSecret ? sql`, has_unused_secret = true` : sql``;
  await sql`
    with chosen as (${chosen}),
    locked as materialized (
      select key_id from key_counters
      where key_id in (select id from chosen)
      order by key_id
      for no key update
    )
    update key_counters set version = version + 1${window}${secret}
    where key_id in (select key_id from locked)`.execute(trx);
}

function chooseKeys(keys: Parameters<typeof bumpKeyVersions>[1]): RawBuilder<unknown> {
  if ("keyId" in keys) return sql`select ${keys.keyId}::uuid as id`;
  if ("keyIds" in keys) return sql`select unnest(${keys.keyIds}::uuid[]) as id`;
  const { userIds, workspaceId } = keys;
  const reaches = workspaceId
    ? sql`and (workspace_ids is null or ${workspaceId} = any(workspace_ids))`
    : sql``;
  return sql`select id from api_keys where user_id = any(${userIds}::uuid[]) and deleted_at is null ${reaches}`;
}
