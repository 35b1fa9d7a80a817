import {
  type AttentionKey,
  type AttentionList,
  listExpiringIssuedKeys,
  listUnusedIssuedKeys,
} from "@latchkey/db/issued-key-attention";
import {
  type BusyConsumer,
  type BusyIssuedKey,
  fewCandidates,
  listBusiestConsumers,
  listBusiestIssuedKeys,
  type SubjectUsage,
} from "@latchkey/db/keyspace-usage";
import { readUsageOfKeyspaces } from "@latchkey/db/keyspace-usage-buckets";
import { listKeyspaceNames, type NamedKeyspace } from "@latchkey/db/keyspaces";
import type { UsageBuckets } from "@latchkey/db/usage-buckets";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";

/** The verifications of all keyspaces of a workspace. */
export interface WorkspaceVerifications {
  readonly hasKeyspaces: boolean;
  readonly usage: readonly SubjectUsage[];
}

export async function readWorkspaceVerifications(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  buckets: UsageBuckets,
): Promise<WorkspaceVerifications> {
  const keyspaceIds = (await listKeyspaceNames(trx, scope)).map(({ id }) => id);
  if (keyspaceIds.length === 0) return { hasKeyspaces: false, usage: [] };
  return { hasKeyspaces: true, usage: await readUsageOfKeyspaces(trx, scope, { keyspaceIds, buckets }) };
}

/** Something of a keyspace, with the keyspace. */
export type InKeyspace<Item> = Omit<Item, "keyspaceId"> & { readonly keyspace: NamedKeyspace };

/** The issued keys and consumers of a workspace that the overview shows. */
export interface IssuedKeyOverview {
  readonly keys: readonly InKeyspace<BusyIssuedKey>[];
  readonly consumers: readonly InKeyspace<BusyConsumer>[];
  readonly expiring: AttentionOverview;
  readonly unused: AttentionOverview;
}

export type AttentionOverview = Omit<AttentionList, "items"> & {
  readonly items: readonly InKeyspace<AttentionKey>[];
};

/** Reads the busiest keys and consumers of a period, and the keys that need attention, in all keyspaces of a workspace. */
export async function readIssuedKeyOverview(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { limit, ...period }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<IssuedKeyOverview> {
  const keyspaces = await listKeyspaceNames(trx, scope);
  const byId = new Map(keyspaces.map((keyspace) => [keyspace.id, keyspace]));
  const name = <Item extends { readonly keyspaceId: NamedKeyspace["id"] }>(items: readonly Item[]) =>
    items.flatMap(({ keyspaceId, ...item }) => {
      const keyspace = byId.get(keyspaceId);
      return keyspace ? [{ ...item, keyspace }] : [];
    });
  const query = { keyspaceIds: keyspaces.map(({ id }) => id), limit };
  const busiest = { ...query, ...period, candidates: fewCandidates };
  const keys = await listBusiestIssuedKeys(trx, scope, busiest);
  const consumers = await listBusiestConsumers(trx, scope, busiest);
  const expiring = await listExpiringIssuedKeys(trx, scope, query);
  const unused = await listUnusedIssuedKeys(trx, scope, query);
  return {
    keys: name(keys),
    consumers: name(consumers),
    expiring: { ...expiring, items: name(expiring.items) },
    unused: { ...unused, items: name(unused.items) },
  };
}
