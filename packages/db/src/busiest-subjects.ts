import { type RawBuilder, sql } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyspaceId } from "./ids.ts";
import { useOutcome, type VerificationCount } from "./keyspace-usage.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

// The keys, consumers and tags with the most verifications.

/** The bounds on what is read to find the busiest subjects. */
export interface Candidates {
  /** The most rows of days, of all days and keyspaces together. */
  readonly rows: number;
  /** The most subjects whose verifications are added up exactly. */
  readonly subjects: number;
}

/** For a short list on a page, which is read again and again. */
export const fewCandidates = { rows: 10_000, subjects: 100 } as const satisfies Candidates;
const manyCandidates = { rows: 100_000, subjects: 1_000 } as const satisfies Candidates;

/** Which of the busiest keys or consumers of a period are listed. */
export interface BusiestQuery extends KeyspacesPeriod {
  readonly limit: number;
  readonly candidates?: Candidates;
}

/** The hours that start at or after `from`, and before `to`. */
interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** A period of one keyspace. */
export interface KeyspacePeriod extends Period {
  readonly keyspaceId: KeyspaceId;
}

/** A period of several keyspaces. */
export interface KeyspacesPeriod extends Period {
  readonly keyspaceIds: readonly KeyspaceId[];
}

/** An issued key with many verifications. */
export interface BusyIssuedKey extends VerificationCount {
  readonly id: IssuedKeyId;
  readonly keyspaceId: KeyspaceId;
  /** Null for a key that was deleted. */
  readonly name: string | null;
  /** The first characters of the secret; empty if unknown, null for a key that was deleted. */
  readonly start: string | null;
}

/** The keys of keyspaces with the most verifications, busiest first. See {@link selectBusiest} for how they are chosen. */
export async function listBusiestIssuedKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: BusiestQuery,
): Promise<BusyIssuedKey[]> {
  const { rows } = await sql<BusyIssuedKey>`
    select busiest.subject_id as id, busiest.keyspace_id as "keyspaceId", issued_keys.name,
      issued_keys.start, busiest.count, busiest.use_count as "useCount"
    from (${selectBusiest(scope, query, { isConsumer: false })} order by count desc, 1 limit ${query.limit}) busiest
    left join issued_keys on issued_keys.id = busiest.subject_id
    order by busiest.count desc, busiest.subject_id`.execute(trx);
  return rows;
}

/** A consumer with many verifications of its keys. */
export interface BusyConsumer extends VerificationCount {
  readonly id: ConsumerId;
  readonly keyspaceId: KeyspaceId;
  readonly externalId: string;
}

/**
 * The consumers of keyspaces with the most verifications, busiest first. Purged consumers are left out. See
 * {@link selectBusiest} for how they are chosen.
 */
export async function listBusiestConsumers(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: BusiestQuery,
): Promise<BusyConsumer[]> {
  const { rows } = await sql<BusyConsumer>`
    select consumers.id, busiest.keyspace_id as "keyspaceId", consumers.external_id as "externalId", busiest.count, busiest.use_count as "useCount"
    from (${selectBusiest(scope, query, { isConsumer: true })}) busiest
    join consumers on consumers.id = busiest.subject_id
    order by busiest.count desc, consumers.id
    limit ${query.limit}`.execute(trx);
  return rows;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The most subjects that are read per keyspace and day. */
const candidatesPerDay = 1_000;
/**
 * The most rows of candidates that are added up, if each has all outcomes in each hour. There are at least as many candidates as
 * the list is long, so a long list can exceed it.
 */
const maxAddedRows = 200_000;
/** The number of outcomes that a verification can have. */
export const maxOutcomes = 8;

/**
 * SQL for the busiest subjects of a period: rows of `subject_id`, `keyspace_id`, `count` and `use_count`.
 *
 * It reads a bounded number of rows, however many subjects, keyspaces and days there are: the busiest 1,000 of each keyspace and
 * day that overlaps the period are candidates, fewer for many days and keyspaces, and only those of every second day, or fewer,
 * if there are more days and keyspaces than rows to read. Those that had the most verifications on these days remain. Their
 * verifications in the period are then added up exactly, by day and, for the parts of days at both ends, by hour.
 */
function selectBusiest(
  { workspaceId }: WorkspaceScope,
  { keyspaceIds, from, to, limit, candidates = manyCandidates }: BusiestQuery,
  { isConsumer }: { readonly isConsumer: boolean },
): RawBuilder<unknown> {
  const [first, last] = [startOfDay(from), startOfDay(new Date(to.getTime() - 1))];
  const dayCount = (last.getTime() - first.getTime()) / dayMs + 1;
  const keyspaceCount = Math.max(1, keyspaceIds.length);
  const daysPerList = Math.ceil(dayCount / Math.max(1, Math.floor(candidates.rows / keyspaceCount)));
  const listCount = Math.ceil(dayCount / daysPerList) * keyspaceCount;
  const perList = Math.max(1, Math.min(candidatesPerDay, Math.floor(candidates.rows / listCount)));
  const [firstWhole, endOfWhole] = [startOfDay(new Date(from.getTime() + dayMs - 1)), startOfDay(to)];
  const hasWholeDays = firstWhole < endOfWhole;
  const wholeMs = hasWholeDays ? endOfWhole.getTime() - firstWhole.getTime() : 0;
  const hourCount = Math.max(0, (to.getTime() - from.getTime() - wholeMs) / hourMs);
  const affordable = Math.floor(maxAddedRows / (dayCount + hourCount * maxOutcomes));
  const subjectCount = Math.min(candidates.subjects, Math.max(limit, affordable));
  // Aggregates of one subject each are read by the primary index, whatever the planner expects.
  const hours = (start: Date, end: Date) => sql`
    select sum(count) as count, sum(count) filter (where outcome = ${useOutcome}) as use_count
    from keyspace_usage_hours
    where workspace_id = ${workspaceId} and subject_id = candidates.subject_id
      and hour >= ${start} and hour < ${end}`;
  const wholeDays = sql`
    select sum(count) as count, sum(use_count) as use_count from keyspace_usage_days
    where workspace_id = ${workspaceId} and subject_id = candidates.subject_id
      and day >= ${toDate(firstWhole)} and day < ${toDate(endOfWhole)}`;
  const parts = hasWholeDays
    ? [wholeDays, hours(from, firstWhole), hours(endOfWhole, to)]
    : [hours(from, to)];
  return sql`
    with candidates as materialized (
      select busiest.subject_id, keyspaces.id as keyspace_id
      from unnest(${keyspaceIds}::uuid[]) as keyspaces (id)
      cross join generate_series(${toDate(last)}, ${toDate(first)}, make_interval(days => ${-daysPerList})) as days (day)
      cross join lateral (
        select subject_id, count from keyspace_usage_days
        where workspace_id = ${workspaceId} and keyspace_id = keyspaces.id and is_consumer = ${isConsumer}
          and day = days.day::date
        order by magnitude desc limit ${perList}
      ) busiest
      group by 1, 2
      order by sum(busiest.count) desc, 1
      limit ${subjectCount}
    )
    select candidates.subject_id, candidates.keyspace_id, sum(part.count)::bigint as count,
      coalesce(sum(part.use_count), 0)::bigint as use_count
    from candidates cross join lateral (${sql.join(parts, sql` union all `)}) part
    group by 1, 2
    having sum(part.count) > 0`;
}

function startOfDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / dayMs) * dayMs);
}

/**
 * SQL for a date. Adds days, because ISO 8601 writes the year 10000, in which the last periods end, in a form that Postgres doesn't
 * read.
 */
function toDate(midnight: Date): RawBuilder<unknown> {
  return sql`(date '1970-01-01' + ${midnight.getTime() / dayMs}::integer)`;
}

/** The tags of a keyspace with the most verifications, busiest first. */
export async function listBusiestTags(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, from, to, limit }: KeyspacePeriod & { readonly limit: number },
): Promise<(VerificationCount & { readonly tag: string })[]> {
  const { rows } = await sql<VerificationCount & { tag: string }>`
    select tag, sum(count)::bigint as count, sum(use_count)::bigint as "useCount"
    from keyspace_tag_hours
    where workspace_id = ${workspaceId} and keyspace_id = ${keyspaceId} and hour >= ${from} and hour < ${to}
    group by 1
    order by 2 desc, 1
    limit ${limit}`.execute(trx);
  return rows;
}
