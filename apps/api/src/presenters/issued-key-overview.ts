import { encodeId } from "@latchkey/db/ids";
import type { NamedKeyspace } from "@latchkey/db/keyspaces";
import type { AttentionOverview, IssuedKeyOverview } from "../domain/workspace-verifications.ts";

/** The busiest issued keys and consumers of a workspace, and the keys that need attention, for the web app. */
export function presentIssuedKeyOverview({ keys, consumers, expiring, unused }: IssuedKeyOverview) {
  return {
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
