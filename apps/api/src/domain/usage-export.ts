import { listBusiestConsumers, listBusiestIssuedKeys, listBusiestTags } from "@latchkey/db/busiest-subjects";
import { encodeId, type KeyspaceId } from "@latchkey/db/ids";
import {
  type DailySubjectId,
  readCountsOfSubjects,
  readCountsOfTags,
  readOutcomesOfSubjects,
} from "@latchkey/db/keyspace-usage";
import { listKeyspaceNames, type NamedKeyspace } from "@latchkey/db/keyspaces";
import type { Db } from "@latchkey/db/schema";
import type { UsageBuckets } from "@latchkey/db/usage-buckets";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { maxUsageGroups, type usageGroupings } from "./keyspace-usage.ts";
import { getKeyspace } from "./keyspaces.ts";

/** The verifications of one group in one bucket. */
export interface ExportedUsage {
  readonly startsAt: Date;
  readonly keyspace: NamedKeyspace;
  /** The ID of the key, the `externalId`, the outcome or the tag. */
  readonly value: string;
  /** The name of the key; null for a deleted key, and for other groups. */
  readonly name: string | null;
  readonly count: number;
  /** The verifications that were uses; null for an outcome. */
  readonly useCount: number | null;
}

export interface UsageExportQuery {
  readonly scope: WorkspaceScope;
  /** Null for all keyspaces of the workspace. */
  readonly keyspaceId: KeyspaceId | null;
  readonly groupBy: (typeof usageGroupings)[number];
  readonly buckets: UsageBuckets;
}

/** The most keys or consumers in an export, busiest first. */
const maxSubjects = 1_000;
/** The most hours that one read adds up, of all its subjects together. Each hour has a row per outcome. */
const hoursPerRead = 25_000;

/** Runs a part of an export. */
type Read = <Result>(work: (trx: WorkspaceTrx) => Promise<Result>) => Promise<Result>;

/**
 * Reads the verifications of a keyspace or of all keyspaces by group and bucket, in parts. Between two parts, it holds neither a
 * connection nor one of the user's concurrent reads. It contains the 1,000 busiest keys or consumers, or the 100 busiest tags
 * in each keyspace, and no counts of 0.
 * @param read runs the reads of one part, as one of the user's concurrent reads.
 * @param requireAccess checks before each part that the caller may still read the usage.
 * @throws {AppError} NOT_FOUND
 */
export async function* readUsageExport(
  read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>,
  { scope, ...query }: UsageExportQuery,
  requireAccess: (db: Db) => Promise<void>,
): AsyncGenerator<readonly ExportedUsage[]> {
  const readPart: Read = (work) =>
    read(async (db) => {
      await requireAccess(db);
      return await inWorkspace(db, scope, work);
    });
  const keyspaces = await readPart((trx) => findKeyspaces(trx, scope, query.keyspaceId));
  const part = { scope, keyspaces, ...query };
  switch (query.groupBy) {
    case "outcome":
      return yield* readOutcomes(readPart, part);
    case "key":
    case "externalId":
      return yield* readSubjects(readPart, part);
    case "tag":
      return yield* readTags(readPart, part);
    default:
      return query.groupBy satisfies never;
  }
}

async function findKeyspaces(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  keyspaceId: KeyspaceId | null,
): Promise<readonly NamedKeyspace[]> {
  return keyspaceId === null
    ? await listKeyspaceNames(trx, scope)
    : [await getKeyspace(trx, scope, keyspaceId)];
}

interface Part extends UsageExportQuery {
  readonly keyspaces: readonly NamedKeyspace[];
}

async function* readOutcomes(
  read: Read,
  { scope, keyspaces, buckets }: Part,
): AsyncGenerator<readonly ExportedUsage[]> {
  const byId = new Map<string, NamedKeyspace>(keyspaces.map((keyspace) => [keyspace.id, keyspace]));
  for (const chunk of cut(keyspaces, buckets)) {
    const subjectIds = chunk.map(({ id }) => id);
    const rows = await read((trx) => readOutcomesOfSubjects(trx, scope, { subjectIds, buckets }));
    yield rows.flatMap(({ subjectId, startsAt, outcome, count }) => {
      const keyspace = byId.get(subjectId);
      return keyspace ? [{ startsAt, keyspace, value: outcome, name: null, count, useCount: null }] : [];
    });
  }
}

/** A busy key or consumer. */
interface BusySubject extends Pick<ExportedUsage, "value" | "name"> {
  readonly id: DailySubjectId;
  readonly keyspaceId: KeyspaceId;
}

async function* readSubjects(
  read: Read,
  { scope, keyspaces, buckets, groupBy }: Part,
): AsyncGenerator<readonly ExportedUsage[]> {
  const { starts, to } = buckets;
  const byId = new Map<string, NamedKeyspace>(keyspaces.map((keyspace) => [keyspace.id, keyspace]));
  const keyspaceIds = keyspaces.map(({ id }) => id);
  const busiest = { keyspaceIds, from: starts[0] ?? to, to, limit: maxSubjects };
  const subjects = await read(
    async (trx): Promise<readonly BusySubject[]> =>
      groupBy === "key"
        ? (await listBusiestIssuedKeys(trx, scope, busiest)).map((key) => ({
            ...key,
            value: encodeId("issuedKey", key.id),
          }))
        : (await listBusiestConsumers(trx, scope, busiest)).map((consumer) => ({
            ...consumer,
            value: consumer.externalId,
            name: null,
          })),
  );
  for (const chunk of cut(subjects, buckets)) {
    const subjectIds = chunk.map(({ id }) => id);
    const rows = await read((trx) => readCountsOfSubjects(trx, scope, { subjectIds, buckets }));
    const counts = Map.groupBy(rows, ({ subjectId }) => subjectId);
    yield chunk.flatMap(({ id, keyspaceId, value, name }) => {
      const keyspace = byId.get(keyspaceId);
      return keyspace ? (counts.get(id) ?? []).map((row) => ({ ...row, keyspace, value, name })) : [];
    });
  }
}

async function* readTags(
  read: Read,
  { scope, keyspaces, buckets }: Part,
): AsyncGenerator<readonly ExportedUsage[]> {
  const { starts, to } = buckets;
  for (const keyspace of keyspaces) {
    const keyspaceId = keyspace.id;
    const period = { keyspaceId, from: starts[0] ?? to, to, limit: maxUsageGroups };
    // Two reads, so that neither takes as long as both.
    const tags = (await read((trx) => listBusiestTags(trx, scope, period))).map(({ tag }) => tag);
    const rows = await read((trx) => readCountsOfTags(trx, scope, { keyspaceId, tags, buckets }));
    const counts = Map.groupBy(rows, ({ tag }) => tag);
    yield tags.flatMap((tag) =>
      (counts.get(tag) ?? []).map((row) => ({ ...row, keyspace, value: tag, name: null })),
    );
  }
}

const hourMs = 3_600_000;

/** Cuts subjects into parts whose hours one read can add up. */
function* cut<Subject>(
  subjects: readonly Subject[],
  { starts, to }: UsageBuckets,
): Generator<readonly Subject[]> {
  const hours = Math.max(1, (to.getTime() - (starts[0] ?? to).getTime()) / hourMs);
  const size = Math.max(1, Math.floor(hoursPerRead / hours));
  for (let first = 0; first < subjects.length; first += size) yield subjects.slice(first, first + size);
}
