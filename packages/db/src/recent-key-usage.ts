import { sql } from "kysely";
import type { IssuedKeyId, KeyspaceId } from "./ids.ts";
import { useOutcome } from "./keyspace-usage.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** How many days in UTC {@link listRecentUsage} covers, including the current one. */
export const recentDays = 30;

/** The verifications of an issued key in the last {@link recentDays} days. */
export interface RecentUsage {
  readonly id: IssuedKeyId;
  readonly count: number;
  /** How many of them were uses. */
  readonly useCount: number;
  /** The number of verifications of each day, oldest first. */
  readonly days: readonly number[];
}

/**
 * The recent verifications of each of these keys, in one statement that reads at most {@link recentDays} rows per key. Keys
 * without any are left out. The database's clock determines the days.
 */
export async function listRecentUsage(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, ids }: { readonly keyspaceId: KeyspaceId; readonly ids: readonly IssuedKeyId[] },
): Promise<RecentUsage[]> {
  const today = sql`(now() at time zone 'UTC')::date`;
  const firstDay = sql`(${today} - ${recentDays - 1}::integer)`;
  const { rows } = await sql<Omit<RecentUsage, "days"> & { days: readonly (readonly [number, number])[] }>`
    select subject_id as id, sum(count)::bigint as count, sum(use_count)::bigint as "useCount",
      json_agg(json_build_array(day - ${firstDay}, count)) as days
    from keyspace_usage_days
    where workspace_id = ${workspaceId} and subject_id = any(${ids}::uuid[])
      and day between ${firstDay} and ${today} and keyspace_id = ${keyspaceId}
    group by subject_id`.execute(trx);
  return rows.map(({ days, ...row }) => {
    const counts = new Map(days);
    return { ...row, days: Array.from({ length: recentDays }, (_, place) => counts.get(place) ?? 0) };
  });
}

/** The recent use of a keyspace. */
export interface KeyspaceUse {
  readonly id: KeyspaceId;
  /** How often its keys were used in the last {@link recentDays} days. */
  readonly useCount: number;
  /** The hour of its last verification, whatever the outcome. */
  readonly lastVerifiedAt: Date;
}

/**
 * The recent use of each of these keyspaces, in one statement that reads at most 24 rows per keyspace and day. Keyspaces without a
 * verification in the history, which covers `HISTORY_DAYS`, are left out.
 */
export async function listUseOfKeyspaces(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ids: readonly KeyspaceId[],
): Promise<KeyspaceUse[]> {
  const { rows } = await sql<KeyspaceUse>`
    select listed.id, used.count as "useCount", latest.hour as "lastVerifiedAt"
    from unnest(${ids}::uuid[]) as listed (id)
    cross join lateral (
      select hour from keyspace_usage_hours
      where workspace_id = ${workspaceId} and subject_id = listed.id
      order by hour desc limit 1
    ) latest
    cross join lateral (
      select coalesce(sum(count), 0)::bigint as count from keyspace_usage_hours
      where workspace_id = ${workspaceId} and subject_id = listed.id and outcome = ${useOutcome}
        and hour > now() - make_interval(days => ${recentDays})
    ) used`.execute(trx);
  return rows;
}
