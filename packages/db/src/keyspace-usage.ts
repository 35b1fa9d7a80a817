import { type RawBuilder, sql } from "kysely";
import type { HistoryLimit } from "./history-rows.ts";
import type { ConsumerId, IssuedKeyId, KeyRejectionId, KeyspaceId, WorkspaceId } from "./ids.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The outcome of a verification that was a use of the key. */
export const useOutcome = "VALID";

/** An issued key, a consumer, a keyspace or a workspace, whose verifications are counted. */
export type UsageSubjectId = IssuedKeyId | ConsumerId | KeyspaceId | WorkspaceId;

/** How many verifications had one outcome in one bucket. */
export interface SubjectUsage {
  readonly startsAt: Date;
  readonly outcome: string;
  readonly count: number;
}

/** Subjects, and the period whose verifications are read. */
interface SubjectsQuery<Id extends UsageSubjectId = UsageSubjectId> {
  readonly subjectIds: readonly Id[];
  readonly buckets: UsageBuckets;
}

/** The outcomes of the verifications of these subjects, added up, oldest first. */
export async function readUsageOfSubjects(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  subjects: SubjectsQuery,
): Promise<SubjectUsage[]> {
  const { startsAt } = bucketsAsSql(subjects.buckets);
  const { rows } = await sql<SubjectUsage>`
    select ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from ${hoursOfSubjects(scope, subjects)}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** The outcomes of the verifications of one of several subjects in a bucket. */
interface SubjectOutcome extends SubjectUsage {
  readonly subjectId: UsageSubjectId;
}

/** The outcomes of the verifications of each of these subjects, by subject, oldest first. */
export async function readOutcomesOfSubjects(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  subjects: SubjectsQuery,
): Promise<SubjectOutcome[]> {
  const { startsAt } = bucketsAsSql(subjects.buckets);
  const { rows } = await sql<SubjectOutcome>`
    select subject_id as "subjectId", ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from ${hoursOfSubjects(scope, subjects)}
    group by 1, 2, 3
    order by 1, 2, 3`.execute(trx);
  return rows;
}

/** How often something was verified, and how many of these verifications were uses. */
export interface VerificationCount {
  readonly count: number;
  readonly useCount: number;
}

/** An issued key or a consumer, whose verifications are also counted per day. */
export type DailySubjectId = IssuedKeyId | ConsumerId;

/** The verifications of one of several keys or consumers in a bucket. */
interface SubjectCount extends VerificationCount {
  readonly subjectId: DailySubjectId;
  readonly startsAt: Date;
}

/**
 * The verifications of each of these keys or consumers, by subject, oldest first. If all buckets begin at midnight in UTC, it
 * reads the counts of days.
 */
export async function readCountsOfSubjects(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  subjects: SubjectsQuery<DailySubjectId>,
): Promise<SubjectCount[]> {
  const { buckets } = subjects;
  const { startsAt } = bucketsAsSql(buckets);
  const source = [...buckets.starts, buckets.to].every(isMidnight)
    ? daysOfSubjects(scope, subjects)
    : hoursOfSubjects(scope, subjects);
  const { rows } = await sql<SubjectCount>`
    select subject_id as "subjectId", ${startsAt} as "startsAt", sum(count)::bigint as count,
      sum(use_count)::bigint as "useCount"
    from ${source}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

function isMidnight(time: Date): boolean {
  return time.getTime() % 86_400_000 === 0;
}

/**
 * SQL for a table `counted` of the hours of subjects. The hours of each subject are read separately, so that the primary index
 * is used, whatever the planner expects.
 */
function hoursOfSubjects(
  { workspaceId }: WorkspaceScope,
  { subjectIds, buckets }: SubjectsQuery,
): RawBuilder<unknown> {
  const { isInRange } = bucketsAsSql(buckets);
  return sql`unnest(${subjectIds}::uuid[]) as subjects (subject_id)
    cross join lateral (
      select hour, outcome, count, case when outcome = ${useOutcome} then count else 0 end as use_count
      from keyspace_usage_hours
      where workspace_id = ${workspaceId} and subject_id = subjects.subject_id and ${isInRange}
      offset 0
    ) counted`;
}

/** The same for the days of keys and consumers, which begin and end at midnight in UTC. */
function daysOfSubjects(
  { workspaceId }: WorkspaceScope,
  { subjectIds, buckets: { starts, to } }: SubjectsQuery<DailySubjectId>,
): RawBuilder<unknown> {
  return sql`unnest(${subjectIds}::uuid[]) as subjects (subject_id)
    cross join lateral (
      select day::timestamp at time zone 'UTC' as hour, count, use_count
      from keyspace_usage_days
      where workspace_id = ${workspaceId} and subject_id = subjects.subject_id
        and day >= (${starts[0]}::timestamptz at time zone 'UTC')::date
        and day < (${to}::timestamptz at time zone 'UTC')::date
      offset 0
    ) counted`;
}

/** The verifications with a tag in a bucket. */
interface TagCount extends VerificationCount {
  readonly tag: string;
  readonly startsAt: Date;
}

/** The verifications with each of these tags of a keyspace, by tag, oldest first. */
export async function readCountsOfTags(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  {
    keyspaceId,
    tags,
    buckets,
  }: { readonly keyspaceId: KeyspaceId; readonly tags: readonly string[]; readonly buckets: UsageBuckets },
): Promise<TagCount[]> {
  const { startsAt, isInRange } = bucketsAsSql(buckets);
  const { rows } = await sql<TagCount>`
    select tag, ${startsAt} as "startsAt", sum(count)::bigint as count, sum(use_count)::bigint as "useCount"
    from keyspace_tag_hours
    where workspace_id = ${workspaceId} and keyspace_id = ${keyspaceId} and ${isInRange}
      and tag = any(${tags}::text[])
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** How many of the latest rejected verifications of a key are kept. */
export const issuedKeyRejectionLimit = {
  table: "issued_key_rejections",
  column: "id",
  newestFirst: sql`id desc`,
  count: 100,
} as const satisfies HistoryLimit;

/** A rejected verification of an issued key. */
export interface IssuedKeyRejection {
  readonly id: KeyRejectionId;
  readonly occurredAt: Date;
  readonly code: string;
  /** The IP address of the consumer; null if the verification named none. */
  readonly address: string | null;
  readonly requestId: string;
}

/** The latest rejected verifications of a key, at most 100, newest first. */
export async function listIssuedKeyRejections(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  keyId: IssuedKeyId,
): Promise<IssuedKeyRejection[]> {
  return await trx
    .selectFrom("issued_key_rejections")
    .select(["id", "occurred_at as occurredAt", "code", "address", "request_id as requestId"])
    .where("workspace_id", "=", workspaceId)
    .where("key_id", "=", keyId)
    .orderBy("id", "desc")
    .limit(issuedKeyRejectionLimit.count)
    .execute();
}
