import {
  type ConsumerId,
  createId,
  type IssuedKeyId,
  type KeyspaceId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import type { KeyspaceHistory } from "@latchkey/db/write-keyspace-history";
import type { Random } from "./random.ts";

/** An issued key of the demo. */
export interface DemoIssuedKey {
  readonly workspaceId: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
  readonly keyId: IssuedKeyId;
  readonly consumerId: ConsumerId;
  readonly createdAt: Date;
}

const hourMs = 3_600_000;
const historyHours = 30 * 24;
/** How many hours pass between two hours in which a key is verified. */
const maxPauseHours = 12;

/** Invents the verifications of issued keys in the last 30 days. */
export function createKeyspaceHistory(
  random: Random,
  { keys, now }: { readonly keys: readonly DemoIssuedKey[]; readonly now: Date },
): KeyspaceHistory {
  const usage: KeyspaceHistory["usage"][number][] = [];
  const tags: KeyspaceHistory["tags"][number][] = [];
  const rejections: KeyspaceHistory["rejections"][number][] = [];
  const lastHour = Math.floor(now.getTime() / hourMs) * hourMs;
  for (const { createdAt, ...key } of keys) {
    const { workspaceId, keyspaceId, keyId } = key;
    for (let hours = historyHours; hours > 0; hours -= random.integer(1, maxPauseHours)) {
      const hour = new Date(lastHour - hours * hourMs);
      if (hour < createdAt) continue;
      const count = random.integer(1, 400);
      usage.push({ ...key, hour, outcome: "VALID", count });
      const tag = random.pick(["region:eu", "region:us", "region:ap"]);
      tags.push({ workspaceId, keyspaceId, hour, tag, outcome: "VALID", count });
      if (random.next() < 0.9) continue;
      const code = random.pick(["RATE_LIMITED", "INSUFFICIENT_PERMISSIONS", "USAGE_EXCEEDED"]);
      usage.push({ ...key, hour, outcome: code, count: random.integer(1, 9) });
      const id = createId("keyRejection");
      const occurredAt = random.time(hour, new Date(hour.getTime() + hourMs));
      const address = `203.0.113.${random.integer(1, 254)}`;
      rejections.push({ workspaceId, keyId, id, occurredAt, code, address, requestId: `demo-${id}` });
    }
  }
  return { usage, tags, rejections };
}
