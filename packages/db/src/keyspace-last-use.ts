import { sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import { useOutcome } from "./keyspace-usage.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * How many keys of a keyspace, the newest first, {@link findLastUse} and `countActiveKeys` read. With 1,000,000 keys, of which 900,000
 * have a row of `issued_key_uses`, in random order, the request that previews a deletion took 73 ms on a busy machine
 * (`pnpm bench:issued-keys`).
 */
export const maxExaminedKeys = 10_000;

/** How many of the keys that were busy on the day of the last use it reads in addition. */
const maxBusyKeys = 1_000;

/** The last use of a keyspace's keys. */
export interface LastUse {
  /** Null for never. */
  readonly at: Date | null;
  /** Whether a key that was not examined can have been used later, before the time that the history covers. */
  readonly isPartial: boolean;
}

/**
 * Finds when a key of a keyspace was last used, in bounded time. Up to {@link maxExaminedKeys} keys, it is the exact time.
 * With more keys, the history of the keyspace has the hour of its last use, and the uses of the keys that were busy on that day,
 * and those of the newest keys, have a time that is at least as exact. The keyspace's history includes keys that were deleted.
 * @param keyCount the number of keys of the keyspace.
 */
export async function findLastUse(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { id, keyCount }: { readonly id: KeyspaceId; readonly keyCount: number },
): Promise<LastUse> {
  const hasMore = keyCount > maxExaminedKeys;
  // The primary key orders the hours, so that the last one is found at the end of an index.
  const lastHour = hasMore
    ? sql`
      select hour from keyspace_usage_hours
      where workspace_id = ${workspaceId} and subject_id = ${id} and outcome = ${useOutcome}
      order by hour desc limit 1`
    : sql`select null::timestamptz as hour where false`;
  const { rows } = await sql<{ lastUsedAt: Date | null; hour: Date | null }>`
    with last_hour as materialized (${lastHour}),
    examined as materialized (
      select array(
        select subject_id from keyspace_usage_days
        where workspace_id = ${workspaceId} and keyspace_id = ${id} and not is_consumer
          and day = (select (hour at time zone 'UTC')::date from last_hour)
        order by magnitude desc limit ${maxBusyKeys}
      ) || array(
        select id from issued_keys
        where keyspace_id = ${id} and workspace_id = ${workspaceId}
        order by created_at desc, id desc limit ${maxExaminedKeys}
      ) as ids
    )
    select (select hour from last_hour) as hour, greatest(
      (select hour from last_hour),
      (select max(last_used_at) from key_counters where key_id = any((select ids from examined)::uuid[])),
      (select max(last_used_at) from issued_key_uses where key_id = any((select ids from examined)::uuid[]))
    ) as "lastUsedAt"`.execute(trx);
  const [row] = rows;
  return { at: row?.lastUsedAt ?? null, isPartial: hasMore && !row?.hour };
}
