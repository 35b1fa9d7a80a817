import { type RawBuilder, sql } from "kysely";
import type { IssuedKeyId, KeyspaceId } from "./ids.ts";
import { lastUsedAtOf, useRowOf } from "./issued-key-uses.ts";
import { days30 } from "./key-status.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An issued key that needs attention. */
export interface AttentionKey {
  readonly id: IssuedKeyId;
  readonly keyspaceId: KeyspaceId;
  readonly name: string;
  /** The first characters of the secret; empty if unknown. */
  readonly start: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** Null for a key that was never used. */
  readonly lastUsedAt: Date | null;
}

/** The first of the keys that need attention. */
export interface AttentionList {
  readonly items: readonly AttentionKey[];
  /** How many of the examined keys need attention. */
  readonly total: number;
  /** Whether a keyspace has more keys than were examined, among which there may be others. */
  readonly isPartial: boolean;
}

interface AttentionQuery {
  readonly keyspaceIds: readonly KeyspaceId[];
  /** The most items. */
  readonly limit: number;
}

/**
 * How many keys a list examines at most, of all keyspaces together. A bound is needed because many examined keys may not need
 * attention: disabled keys among those that expire, used keys among the oldest.
 */
export const maxExaminedKeys = { expiring: 5_000, unused: 1_000 } as const;

/** The enabled keys that expire within 30 days, the next one first. */
export async function listExpiringIssuedKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: AttentionQuery,
): Promise<AttentionList> {
  return await listAttention(trx, scope, query, {
    isCandidate: sql`listed_expiry > now() and listed_expiry <= now() + ${days30}`,
    order: sql`listed_expiry, id`,
    maxExamined: maxExaminedKeys.expiring,
    needsAttention: sql`true`,
  });
}

/**
 * The enabled keys that haven't expired, are older than 30 days and weren't used in the last 30 days, the oldest one first. The
 * last use changes with every use, so it has no index: the uses of each examined key are looked up.
 */
export async function listUnusedIssuedKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: AttentionQuery,
): Promise<AttentionList> {
  return await listAttention(trx, scope, query, {
    isCandidate: sql`created_at < now() - ${days30}`,
    order: sql`created_at, id`,
    maxExamined: maxExaminedKeys.unused,
    // The counter is looked up only if the key has no recent use in `issued_key_uses`.
    needsAttention: sql`listed_expiry > now()
      and coalesce(${recentUseIn("issued_key_uses")}, ${recentUseIn("key_counters")}) is null`,
  });
}

/** SQL that is true if a table has a use of the examined key in the last 30 days, and null otherwise. */
function recentUseIn(table: "issued_key_uses" | "key_counters"): RawBuilder<true | null> {
  return sql`(
    select true from ${sql.table(table)} where key_id = examined.id and last_used_at >= now() - ${days30})`;
}

interface AttentionRule {
  /** Selects the keys to examine, by an index. */
  readonly isCandidate: RawBuilder<unknown>;
  /** The order of this index. */
  readonly order: RawBuilder<unknown>;
  readonly maxExamined: number;
  readonly needsAttention: RawBuilder<unknown>;
}

/** Examines as many keys of each keyspace, so that a large keyspace doesn't hide the others. */
async function listAttention(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceIds, limit }: AttentionQuery,
  { isCandidate, order, maxExamined, needsAttention }: AttentionRule,
): Promise<AttentionList> {
  const perKeyspace = Math.max(1, Math.floor(maxExamined / Math.max(1, keyspaceIds.length)));
  // Otherwise, if most keyspaces are small, the planner expects few keys of each, and reads and sorts all keys of a large one.
  await sql`set local enable_bitmapscan = off`.execute(trx);
  const { rows } = await sql<AttentionRow>`
    with examined as materialized (
      select key.* from unnest(${keyspaceIds}::uuid[]) as keyspaces (id)
      cross join lateral (
        select id, keyspace_id, name, start, created_at, expires_at, listed_expiry, disabled_at from issued_keys
        where keyspace_id = keyspaces.id and workspace_id = ${workspaceId} and ${isCandidate}
        order by ${order} limit ${perKeyspace + 1}
      ) key
    ),
    matching as materialized (
      select * from examined where disabled_at is null and ${needsAttention}
    ),
    first as (select * from matching order by ${order} limit ${limit})
    select first.id, first.keyspace_id as "keyspaceId", first.name, first.start, first.created_at as "createdAt",
      first.expires_at as "expiresAt", ${lastUsedAtOf("counter", "uses")} as "lastUsedAt", counts.total, counts."isPartial"
    from (
      select (select count(*) from matching) as total,
        exists (select from examined group by keyspace_id having count(*) > ${perKeyspace}) as "isPartial"
    ) counts
    left join first on true
    left join key_counters counter on counter.key_id = first.id
    left join lateral ${useRowOf("counter")} uses on true
    order by ${order}`.execute(trx);
  await sql`set local enable_bitmapscan = on`.execute(trx);
  const { total = 0, isPartial = false } = rows[0] ?? {};
  // Without items, there is one row with the counts.
  const items = rows.flatMap(({ total: _total, isPartial: _isPartial, id, ...key }) =>
    id === null ? [] : [{ id, ...key }],
  );
  return { items, total, isPartial };
}

type AttentionRow = Omit<AttentionKey, "id"> &
  Omit<AttentionList, "items"> & { readonly id: IssuedKeyId | null };
