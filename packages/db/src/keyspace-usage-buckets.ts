import { type RawBuilder, sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import {
  type SubjectUsage,
  type UsageSubjectId,
  useOutcome,
  type VerificationCount,
} from "./keyspace-usage.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

// The verifications of several keyspaces, keys, consumers or tags, in buckets of the reader's choice.

/** The outcomes of the verifications of keyspaces, added up, oldest first. */
export async function readUsageOfKeyspaces(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceIds, buckets }: { readonly keyspaceIds: readonly KeyspaceId[]; readonly buckets: UsageBuckets },
): Promise<SubjectUsage[]> {
  const { startsAt, isInRange } = bucketsAsSql(buckets);
  const { rows } = await sql<SubjectUsage>`
    select ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from keyspace_usage_hours
    where workspace_id = ${workspaceId} and subject_id = any(${keyspaceIds}::uuid[]) and ${isInRange}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** The outcomes of the verifications of one of several subjects in a bucket. */
export interface SubjectOutcome extends SubjectUsage {
  readonly subjectId: UsageSubjectId;
}

/** The outcomes of the verifications of each of these subjects, by subject, oldest first. */
export async function readOutcomesOfSubjects(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  subjects: { readonly subjectIds: readonly UsageSubjectId[]; readonly buckets: UsageBuckets },
): Promise<SubjectOutcome[]> {
  const { rows } = await sql<SubjectOutcome>`
    ${selectSubjects(scope, subjects, sql`outcome, sum(count)::bigint as count`)}
    group by 1, 2, 3
    order by 1, 2, 3`.execute(trx);
  return rows;
}

/** The verifications of one of several subjects in a bucket. */
export interface SubjectCount extends VerificationCount {
  readonly subjectId: UsageSubjectId;
  readonly startsAt: Date;
}

/** The verifications of each of these subjects, by subject, oldest first. */
export async function readCountsOfSubjects(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  subjects: { readonly subjectIds: readonly UsageSubjectId[]; readonly buckets: UsageBuckets },
): Promise<SubjectCount[]> {
  const counts = sql`sum(count)::bigint as count,
    coalesce(sum(count) filter (where outcome = ${useOutcome}), 0)::bigint as "useCount"`;
  const { rows } = await sql<SubjectCount>`
    ${selectSubjects(scope, subjects, counts)}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** Reads the hours of each subject by itself, so that the primary index is used, whatever the planner expects. */
function selectSubjects(
  { workspaceId }: WorkspaceScope,
  { subjectIds, buckets }: { readonly subjectIds: readonly UsageSubjectId[]; readonly buckets: UsageBuckets },
  selection: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { startsAt, isInRange } = bucketsAsSql(buckets);
  return sql`
    select subjects.id as "subjectId", ${startsAt} as "startsAt", ${selection}
    from unnest(${subjectIds}::uuid[]) as subjects (id)
    cross join lateral (
      select hour, outcome, count from keyspace_usage_hours
      where workspace_id = ${workspaceId} and subject_id = subjects.id and ${isInRange}
      offset 0
    ) hours`;
}

/** The verifications with a tag in a bucket. */
export interface TagCount extends VerificationCount {
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
