import {
  type BusyConsumer,
  type BusyIssuedKey,
  fewCandidates,
  listBusiestConsumers,
  listBusiestIssuedKeys,
  listBusiestTags,
} from "@latchkey/db/busiest-subjects";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import { readUsageOfSubjects, type SubjectUsage, type VerificationCount } from "@latchkey/db/keyspace-usage";
import { findLatestOutcome } from "@latchkey/db/latest-outcome";
import {
  type KeyspaceUse,
  listRecentUsage,
  listUseOfKeyspaces,
  type RecentUsage,
} from "@latchkey/db/recent-key-usage";
import type { UsageBuckets } from "@latchkey/db/usage-buckets";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { getKeyspace } from "./keyspaces.ts";

/** A keyspace, and the period of a chart. */
interface KeyspaceBuckets {
  readonly keyspaceId: KeyspaceId;
  readonly buckets: UsageBuckets;
}

/**
 * Reads the outcomes of the verifications of all keys of a keyspace, oldest first.
 * @throws {AppError} NOT_FOUND
 */
export async function readKeyspaceUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, buckets }: KeyspaceBuckets,
): Promise<SubjectUsage[]> {
  await getKeyspace(trx, scope, keyspaceId);
  return await readUsageOfSubjects(trx, scope, { subjectIds: [keyspaceId], buckets });
}

/** The keys, consumers and tags of a keyspace with the most verifications, busiest first. */
export interface BusiestOfKeyspace {
  readonly keys: readonly BusyIssuedKey[];
  readonly consumers: readonly BusyConsumer[];
  readonly tags: readonly (VerificationCount & { readonly tag: string })[];
}

/**
 * Lists at most 10 keys, 10 consumers and 20 tags.
 * @throws {AppError} NOT_FOUND
 */
export async function listBusiestOfKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, buckets: { starts, to } }: KeyspaceBuckets,
): Promise<BusiestOfKeyspace> {
  await getKeyspace(trx, scope, keyspaceId);
  const period = { from: starts[0] ?? to, to };
  const subjects = { ...period, keyspaceIds: [keyspaceId], limit: 10, candidates: fewCandidates };
  return {
    keys: await listBusiestIssuedKeys(trx, scope, subjects),
    consumers: await listBusiestConsumers(trx, scope, subjects),
    tags: await listBusiestTags(trx, scope, { ...period, keyspaceId, limit: 20 }),
  };
}

/**
 * Lists the verifications of these keys per day in UTC, in the last 30 days. Keys without any are left out.
 * @throws {AppError} NOT_FOUND if there is no such keyspace.
 */
export async function listRecentKeyUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  keys: { readonly keyspaceId: KeyspaceId; readonly ids: readonly IssuedKeyId[] },
): Promise<RecentUsage[]> {
  await getKeyspace(trx, scope, keys.keyspaceId);
  return await listRecentUsage(trx, scope, keys);
}

/** Lists the recent use of these keyspaces. Those of other workspaces, and those without any, are left out. */
export async function listKeyspaceUses(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  ids: readonly KeyspaceId[],
): Promise<KeyspaceUse[]> {
  return await listUseOfKeyspaces(trx, scope, ids);
}

/**
 * Returns the outcome of the latest verifications of a keyspace, undefined if there are none. See `findLatestOutcome`.
 * @throws {AppError} NOT_FOUND
 */
export async function readLatestOutcome(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  keyspaceId: KeyspaceId,
): Promise<string | undefined> {
  return await findLatestOutcome(trx, scope, await getKeyspace(trx, scope, keyspaceId));
}
