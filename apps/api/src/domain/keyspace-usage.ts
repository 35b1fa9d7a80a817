import {
  type KeyspacePeriod,
  listBusiestConsumers,
  listBusiestIssuedKeys,
  listBusiestTags,
} from "@latchkey/db/busiest-subjects";
import type { ConsumerPath } from "@latchkey/db/consumers";
import { encodeId, type IssuedKeyId, type WorkspaceId } from "@latchkey/db/ids";
import type { IssuedKeyPath } from "@latchkey/db/issued-keys";
import {
  type IssuedKeyRejection,
  listIssuedKeyRejections,
  readCountsOfSubjects,
  readCountsOfTags,
  readUsageOfSubjects,
  type SubjectUsage,
  type UsageSubjectId,
  useOutcome,
} from "@latchkey/db/keyspace-usage";
import type { UsageBuckets } from "@latchkey/db/usage-buckets";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { bucketMs } from "./bucket-ms.ts";
import { getConsumer } from "./consumers.ts";
import { getIssuedKey } from "./issued-keys.ts";
import { getKeyspace } from "./keyspaces.ts";
import { roundToBuckets } from "./round-to-buckets.ts";

/** What verifications can be grouped by. */
export const usageGroupings = ["key", "externalId", "outcome", "tag"] as const;
type Grouping = (typeof usageGroupings)[number];

/** The most groups in one response, and the most counts of all groups together. */
export const maxUsageGroups = 100;
const maxCounts = 25_000;

/** The longest period of tags, in days: a keyspace has counts of 100 tags per hour, which are read one by one. */
export const maxTagDays = 100;

/** The verifications of a keyspace that have a key, a consumer, an outcome or a tag in common. */
export interface UsageGroup {
  /** The ID of the key, the `externalId`, the outcome or the tag. */
  readonly value: string;
  /** The name of the key; null for a deleted key, and for other groups. */
  readonly name: string | null;
  readonly count: number;
  /** The verifications that were uses. */
  readonly useCount: number;
  /** The verifications by hour or day, oldest first, without those that have none. */
  readonly buckets: readonly { readonly startsAt: Date; readonly count: number }[];
}

export interface GroupedPeriod extends KeyspacePeriod {
  readonly groupBy: Grouping;
  readonly bucket: "hour" | "day";
  /** The key whose outcomes are read, instead of those of all keys. */
  readonly keyId?: IssuedKeyId | undefined;
  /** The consumer whose outcomes are read, instead of those of all keys. */
  readonly externalId?: string | undefined;
  /** The most groups, at most {@link maxUsageGroups}. */
  readonly limit: number;
}

/** A period with its hours or days. */
interface BucketedPeriod extends KeyspacePeriod {
  readonly buckets: UsageBuckets;
  readonly limit: number;
}

/**
 * Reads the groups of a keyspace with the most verifications, busiest first, in the hours or days in UTC that begin in a
 * period.
 * @throws {AppError} NOT_FOUND; BAD_REQUEST if the period is too long for the groups.
 */
export async function readGroupedUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { from, to, ...query }: GroupedPeriod,
): Promise<UsageGroup[]> {
  await getKeyspace(trx, scope, query.keyspaceId);
  const length = bucketMs[query.bucket];
  const rounded = roundToBuckets({ from, to, bucket: query.bucket });
  const bucketCount = (rounded.to.getTime() - rounded.from.getTime()) / length;
  if (bucketCount === 0) return [];
  if (bucketCount * query.limit > maxCounts) {
    const most = Math.floor(maxCounts / query.limit).toLocaleString("en-US");
    rejectPeriod(
      `the period has too many buckets. With this "limit", at most ${most} are possible. Use an earlier time, a lower "limit", or "day" as "bucket".`,
    );
  }
  if (query.groupBy === "tag" && bucketCount * length > maxTagDays * bucketMs.day)
    rejectPeriod(
      `the period is too long. Tags can be grouped in at most ${maxTagDays} days. Use an earlier time.`,
    );
  const starts = Array.from(
    { length: bucketCount },
    (_, place) => new Date(rounded.from.getTime() + place * length),
  );
  const period = { ...query, ...rounded, buckets: { starts, to: rounded.to } };
  switch (query.groupBy) {
    case "key":
      return await readKeys(trx, scope, period);
    case "externalId":
      return await readConsumers(trx, scope, period);
    case "outcome":
      return await readOutcomes(trx, scope, { ...period, subjectId: await findSubject(trx, scope, query) });
    case "tag":
      return await readTags(trx, scope, period);
    default:
      return query.groupBy satisfies never;
  }
}

function rejectPeriod(message: string): never {
  throw new AppError("BAD_REQUEST", { issues: [{ path: "to", code: "invalid_range", message }] });
}

async function readKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  period: BucketedPeriod,
): Promise<UsageGroup[]> {
  const keys = await listBusiestIssuedKeys(trx, scope, { ...period, keyspaceIds: [period.keyspaceId] });
  const subjectIds = keys.map(({ id }) => id);
  const counts = await readCountsOfSubjects(trx, scope, { ...period, subjectIds });
  return addBuckets(
    keys.map((key) => ({ ...key, value: encodeId("issuedKey", key.id) })),
    counts,
    { idOf: ({ id }) => id, groupOf: ({ subjectId }) => subjectId },
  );
}

async function readConsumers(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  period: BucketedPeriod,
): Promise<UsageGroup[]> {
  const consumers = await listBusiestConsumers(trx, scope, { ...period, keyspaceIds: [period.keyspaceId] });
  const subjectIds = consumers.map(({ id }) => id);
  const counts = await readCountsOfSubjects(trx, scope, { ...period, subjectIds });
  return addBuckets(
    consumers.map((consumer) => ({ ...consumer, value: consumer.externalId, name: null })),
    counts,
    { idOf: ({ id }) => id, groupOf: ({ subjectId }) => subjectId },
  );
}

async function readTags(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  period: BucketedPeriod,
): Promise<UsageGroup[]> {
  const tags = await listBusiestTags(trx, scope, period);
  const counts = await readCountsOfTags(trx, scope, { ...period, tags: tags.map(({ tag }) => tag) });
  return addBuckets(
    tags.map((row) => ({ ...row, value: row.tag, name: null })),
    counts,
    { idOf: ({ tag }) => tag, groupOf: ({ tag }) => tag },
  );
}

type KeyspaceSubjectId = Exclude<UsageSubjectId, WorkspaceId>;

/** Finds the subject whose outcomes are counted: a key, a consumer, or the whole keyspace. @throws {AppError} NOT_FOUND */
async function findSubject(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, keyId, externalId }: Pick<GroupedPeriod, "keyspaceId" | "keyId" | "externalId">,
): Promise<KeyspaceSubjectId> {
  if (keyId !== undefined) return (await getIssuedKey(trx, scope, { keyspaceId, id: keyId })).id;
  if (externalId !== undefined) return (await getConsumer(trx, scope, { keyspaceId, externalId })).id;
  return keyspaceId;
}

/** The outcomes are few, so they are read together. */
async function readOutcomes(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { subjectId, buckets, limit }: BucketedPeriod & { readonly subjectId: KeyspaceSubjectId },
): Promise<UsageGroup[]> {
  const rows = await readUsageOfSubjects(trx, scope, { subjectIds: [subjectId], buckets });
  return [...Map.groupBy(rows, ({ outcome }) => outcome)]
    .map(([outcome, buckets]) => {
      const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
      return { value: outcome, name: null, count, useCount: outcome === useOutcome ? count : 0, buckets };
    })
    .toSorted((one, other) => other.count - one.count)
    .slice(0, limit);
}

function addBuckets<Group extends Omit<UsageGroup, "buckets">, Count extends UsageGroup["buckets"][number]>(
  groups: readonly Group[],
  counts: readonly Count[],
  { idOf, groupOf }: { readonly idOf: (group: Group) => string; readonly groupOf: (count: Count) => string },
): UsageGroup[] {
  const buckets = Map.groupBy(counts, groupOf);
  return groups.map((group) => ({ ...group, buckets: buckets.get(idOf(group)) ?? [] }));
}

/**
 * Reads the outcomes of the verifications of a key, oldest first.
 * @throws {AppError} NOT_FOUND
 */
export async function readIssuedKeyUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { buckets, ...path }: IssuedKeyPath & { readonly buckets: UsageBuckets },
): Promise<SubjectUsage[]> {
  const { id } = await getIssuedKey(trx, scope, path);
  return await readUsageOfSubjects(trx, scope, { subjectIds: [id], buckets });
}

/**
 * Reads the outcomes of the verifications of a consumer's keys, oldest first.
 * @throws {AppError} NOT_FOUND
 */
export async function readConsumerUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { buckets, ...path }: ConsumerPath & { readonly buckets: UsageBuckets },
): Promise<SubjectUsage[]> {
  const { id } = await getConsumer(trx, scope, path);
  return await readUsageOfSubjects(trx, scope, { subjectIds: [id], buckets });
}

/**
 * Lists the latest rejected verifications of a key, newest first.
 * @throws {AppError} NOT_FOUND
 */
export async function listRejections(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  path: IssuedKeyPath,
): Promise<IssuedKeyRejection[]> {
  const { id } = await getIssuedKey(trx, scope, path);
  return await listIssuedKeyRejections(trx, scope, id);
}
