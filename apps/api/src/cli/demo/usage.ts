import type { Outcome } from "@latchkey/auth/outcome";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import type { KeyHistory } from "@latchkey/db/write-key-history";
import { type DemoKey, usesInHour } from "./keys.ts";
import type { Random } from "./random.ts";

const hourMs = 3_600_000;
const usageDays = 90;
const rejectionReasons = ["limited", "no-permission", "address"] as const satisfies readonly Outcome[];

/** The history of one key, and what its counter shows. */
export interface KeyUse {
  readonly history: KeyHistory;
  readonly useCount: number;
  readonly lastUsedAt: Date | null;
}

/** Invents the requests with a key in the last 90 days, until it was disabled or expired. */
export function createKeyUse(
  random: Random,
  { key, workspaceId, now }: { key: DemoKey; workspaceId: WorkspaceId; now: Date },
): KeyUse {
  const from = Math.max(key.createdAt.getTime(), now.getTime() - usageDays * 24 * hourMs);
  const ends = [now, key.disabledAt, key.row.expires_at ?? null].map((time) => time?.getTime() ?? Infinity);
  const to = Math.min(...ends);
  const usage: KeyHistory["usage"][number][] = [];
  const rejections: KeyHistory["rejections"][number][] = [];
  let useCount = 0;
  for (let time = Math.ceil(from / hourMs) * hourMs; time + hourMs <= to; time += hourMs) {
    const hour = new Date(time);
    const count = usesInHour(random, key.profile, hour);
    if (count === 0) continue;
    useCount += count;
    usage.push({ keyId: key.id, hour, workspaceId, outcome: "admitted", count });
    if (random.next() < 0.97) continue;
    const reason = random.pick(rejectionReasons);
    usage.push({ keyId: key.id, hour, workspaceId, outcome: reason, count: random.integer(1, 9) });
    rejections.push({
      keyId: key.id,
      id: createId("keyRejection"),
      occurredAt: new Date(time + random.integer(0, hourMs - 1)),
      address: key.owner.address,
      method: "GET",
      path: "/open/me",
      requestId: `demo-${createId("keyRejection")}`,
      reason,
    });
  }
  const lastHour = usage.at(-1)?.hour;
  const lastUsedAt = lastHour ? new Date(lastHour.getTime() + random.integer(0, hourMs - 1)) : null;
  const { address, network } = key.owner;
  const addresses = lastUsedAt ? [{ keyId: key.id, address, network, lastSeenAt: lastUsedAt }] : [];
  return { history: { usage, addresses, rejections, secrets: [] }, useCount, lastUsedAt };
}
