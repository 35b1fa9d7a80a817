import { type Expression, type RawBuilder, sql } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyId, UserId } from "./ids.ts";
import type { NamedLimit } from "./issued-key-settings.ts";
import { areUsesLocked } from "./issued-key-uses.ts";
import type { Trx } from "./schema.ts";

/** Inserts the row that counts the uses of a new API key or consumer, with version 1 and no uses. */
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
 * @param keys.limits the new limits of issued keys; undefined if they keep theirs. The windows of other limits are removed.
 * @param keys.hasNewSecret whether each key was given another secret in this transaction, which no request has used.
 */
export async function bumpKeyVersions(
  trx: Trx,
  keys:
    | {
        readonly keyId: KeyId;
        readonly windowSeconds?: number | undefined;
        readonly hasNewSecret?: true;
      }
    | {
        readonly keyIds: readonly (KeyId | IssuedKeyId)[];
        readonly limits?: readonly NamedLimit[] | undefined;
        readonly hasNewSecret?: true;
      },
): Promise<void> {
  const ids = "keyId" in keys ? [keys.keyId] : keys.keyIds;
  const seconds = "keyId" in keys ? keys.windowSeconds : undefined;
  const latest = sql`clock_timestamp() + ${seconds}::integer * interval '1 second'`;
  const window = seconds
    ? sql`, window_ends_at = case when window_ends_at > ${latest} then ${latest} else window_ends_at end`
    : sql``;
  const limits = "limits" in keys ? keys.limits : undefined;
  const windows = limits ? sql`, windows = ${windowsOf(limits)}` : sql``;
  const secret = keys.hasNewSecret ? sql`, has_unused_secret = true` : sql``;
  await sql`
    with locked as materialized (
      select key_id from key_counters
      where key_id = any(${ids}::uuid[])
      order by key_id
      for no key update
    )
    update key_counters set version = version + 1${window}${windows}${secret}
    where key_id in (select key_id from locked)
      and ${areUsesLocked(sql`array(select key_id from locked)`)}`.execute(trx);
}

/** SQL for the windows of a counter without those of limits that its key or consumer no longer has, so that it doesn't grow. */
export function windowsOf(limits: readonly NamedLimit[]): RawBuilder<unknown> {
  const names = limits.map(({ name }) => name);
  return sql`(
    select jsonb_object_agg(name, stored) from jsonb_each(windows) as entry (name, stored)
    where name = any(${names}::text[])
  )`;
}

/**
 * Locks the counters of all keys of users, which are about to be deleted, in the order in which admission locks them, so that
 * the two can't deadlock.
 */
export async function lockCountersOf(trx: Trx, users: Expression<{ id: UserId }>): Promise<void> {
  await sql`
    select from key_counters where key_id in (select id from api_keys where user_id in ${users})
    order by key_id for update`.execute(trx);
}
