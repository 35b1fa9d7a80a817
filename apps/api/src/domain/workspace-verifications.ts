import {
  type BusyConsumer,
  type BusyIssuedKey,
  fewCandidates,
  listBusiestConsumers,
  listBusiestIssuedKeys,
} from "@latchkey/db/busiest-subjects";
import {
  type AttentionKey,
  type AttentionList,
  listExpiringIssuedKeys,
  listUnusedIssuedKeys,
} from "@latchkey/db/issued-key-attention";
import { readUsageOfSubjects, type SubjectUsage } from "@latchkey/db/keyspace-usage";
import { listKeyspaceNames, type NamedKeyspace } from "@latchkey/db/keyspaces";
import type { UsageBuckets } from "@latchkey/db/usage-buckets";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";

/** Something of a keyspace, with the keyspace. */
export type InKeyspace<Item> = Omit<Item, "keyspaceId"> & { readonly keyspace: NamedKeyspace };

/**
 * The verifications of all keyspaces of a workspace, including deleted ones, and the issued keys and consumers that the
 * overview shows.
 */
export interface WorkspaceVerifications {
  readonly usage: readonly SubjectUsage[];
  readonly keys: readonly InKeyspace<BusyIssuedKey>[];
  readonly consumers: readonly InKeyspace<BusyConsumer>[];
  readonly expiring: AttentionOverview;
  readonly unused: AttentionOverview;
}

export type AttentionOverview = Omit<AttentionList, "items"> & {
  readonly items: readonly InKeyspace<AttentionKey>[];
};

/**
 * Reads the verifications of all keyspaces of a workspace, the busiest keys and consumers, and the keys that need attention.
 * Returns null if the workspace has no keyspace.
 */
export async function readWorkspaceVerifications(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { buckets, limit }: { readonly buckets: UsageBuckets; readonly limit: number },
): Promise<WorkspaceVerifications | null> {
  const keyspaces = await listKeyspaceNames(trx, scope);
  if (keyspaces.length === 0) return null;
  const byId = new Map(keyspaces.map((keyspace) => [keyspace.id, keyspace]));
  const name = <Item extends { readonly keyspaceId: NamedKeyspace["id"] }>(items: readonly Item[]) =>
    items.flatMap(({ keyspaceId, ...item }) => {
      const keyspace = byId.get(keyspaceId);
      return keyspace ? [{ ...item, keyspace }] : [];
    });
  const { starts, to } = buckets;
  const query = { keyspaceIds: keyspaces.map(({ id }) => id), limit };
  const busiest = { ...query, from: starts[0] ?? to, to, candidates: fewCandidates };
  const usage = await readUsageOfSubjects(trx, scope, { subjectIds: [scope.workspaceId], buckets });
  const keys = await listBusiestIssuedKeys(trx, scope, busiest);
  const consumers = await listBusiestConsumers(trx, scope, busiest);
  const expiring = await listExpiringIssuedKeys(trx, scope, query);
  const unused = await listUnusedIssuedKeys(trx, scope, query);
  return {
    usage,
    keys: name(keys),
    consumers: name(consumers),
    expiring: { ...expiring, items: name(expiring.items) },
    unused: { ...unused, items: name(unused.items) },
  };
}
