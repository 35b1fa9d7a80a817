import { encodeId } from "@latchkey/db/ids";
import type { NamedKeyspace } from "@latchkey/db/keyspaces";
import type { AttentionOverview, WorkspaceVerifications } from "../domain/workspace-verifications.ts";
import { presentUsage } from "./usage-bucket.ts";

/** The verifications of a workspace, and its busiest issued keys and consumers and the keys that need attention. */
export function presentWorkspaceVerifications({
  usage,
  keys,
  consumers,
  expiring,
  unused,
}: WorkspaceVerifications) {
  return {
    usage: usage.map(presentUsage),
    keys: keys.map(({ id, name, start, keyspace, count, useCount }) => ({
      id: encodeId("issuedKey", id),
      name,
      start,
      keyspace: presentKeyspace(keyspace),
      count,
      useCount,
    })),
    consumers: consumers.map(({ externalId, keyspace, count, useCount }) => ({
      externalId,
      keyspace: presentKeyspace(keyspace),
      count,
      useCount,
    })),
    expiring: presentAttention(expiring),
    unused: presentAttention(unused),
  };
}

function presentAttention({ items, total, isPartial }: AttentionOverview) {
  return {
    items: items.map(({ id, name, start, keyspace, createdAt, expiresAt, lastUsedAt }) => ({
      id: encodeId("issuedKey", id),
      name,
      start,
      keyspace: presentKeyspace(keyspace),
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
    total,
    isPartial,
  };
}

function presentKeyspace({ id, name }: NamedKeyspace) {
  return { id: encodeId("keyspace", id), name };
}
