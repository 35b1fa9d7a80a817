import { type ConsumerId, createId, type IssuedKeyId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { Db } from "./schema.ts";
import { openTestPool } from "./testing/test-connection.ts";
import type { TestDatabase } from "./testing/test-database.ts";
import type { IssuedKeyHourUsage, TagHourUsage } from "./write-keyspace-history.ts";

// The verifications of issued keys of one keyspace, as nodes record them.

export const workspaceId = createId("workspace");
export const scope = mintWorkspaceScope(workspaceId);
export const keyspaceId = createId("keyspace");
export const hour = new Date("2026-03-02T12:00:00Z");

/** Connects to the database as a node that writes history. */
export function openNode({ connection }: TestDatabase): Db {
  return openTestPool(connection, { role: "latchkey_admission", applicationName: "statistics" });
}

/** One verification of a key. */
export function used(keyId: IssuedKeyId, change: Partial<IssuedKeyHourUsage> = {}): IssuedKeyHourUsage {
  return { workspaceId, keyspaceId, keyId, consumerId: null, hour, outcome: "VALID", count: 1, ...change };
}

export function createIds<Kind extends "issuedKey" | "consumer" | "keyspace">(
  kind: Kind,
  count: number,
): ReturnType<typeof createId<Kind>>[] {
  return Array.from({ length: count }, () => createId(kind));
}

const hours = [
  "2026-03-01T22:00:00Z",
  "2026-03-01T23:00:00Z",
  "2026-03-02T00:00:00Z",
  "2026-03-02T12:00:00Z",
].map((text) => new Date(text));
export const outcomes = ["VALID", "CHECKED", "RATE_LIMITED"] as const;

/** One verification per key, hour and outcome, and more of keys that come later. */
export function createUsage(
  keyIds: readonly IssuedKeyId[],
  consumerIds: readonly ConsumerId[],
): IssuedKeyHourUsage[] {
  return keyIds.flatMap((keyId, index) =>
    hours.flatMap((hour) =>
      outcomes.map((outcome) => {
        const consumerId = consumerIds[index % (consumerIds.length + 1)] ?? null;
        return used(keyId, { consumerId, hour, outcome, count: index + 1 });
      }),
    ),
  );
}

/** One verification with a tag. */
export function tagged(tag: string, change: Partial<TagHourUsage> = {}): TagHourUsage {
  return { workspaceId, keyspaceId, hour, tag, outcome: "VALID", count: 1, ...change };
}
