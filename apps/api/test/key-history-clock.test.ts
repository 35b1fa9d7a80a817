import { encodeId, type KeyId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { startTestApp, type TestApp } from "./test-app.ts";

// The node's clock is an hour ahead of the database's, or an hour behind.

const hourMs = 3_600_000;
/** Far less than an hour, and more than a busy machine delays a node. */
const toleranceMs = 5 * 60_000;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());
afterEach(() => void vi.useRealTimers());

async function readDatabaseTime(): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(app.owner);
  return rows[0]?.now ?? new Date(Number.NaN);
}

function readHistory(keyId: KeyId) {
  return sql<{ readonly kind: string; readonly at: Date }>`
    select outcome as kind, hour as at from key_usage_hours where key_id = ${keyId}
    union all select 'address', last_seen_at from key_addresses where key_id = ${keyId}
    union all select 'rejection', occurred_at from key_refusals where key_id = ${keyId}
    union all select 'old secret', last_used_at from retired_secrets
      where key_id = ${keyId} and last_used_at is not null
    order by kind`.execute(app.owner);
}

test.each([-1, 1])("history has the database's time if the node's differs by %d hours", async (hours) => {
  const { id, secret } = await app.addKey();
  const call = (path: string, options: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
    return fetch(`${app.baseUrl}/open${path}`, { ...options, headers });
  };
  const startedAt = await readDatabaseTime();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * hourMs });
  const rotation = { method: "POST", body: JSON.stringify({ overlapSeconds: 600 }) };
  expect((await call(`/api-keys/${encodeId("key", id)}/rotate`, rotation)).status).toBe(200);
  expect((await call("/me")).status).toBe(200);
  expect((await call("/workspaces/ws_01h455vb4pex5vsknk084sn02q")).status).toBe(403);
  const kinds = ["address", "admitted", "no-member", "old secret", "rejection"];
  await expect.poll(async () => (await readHistory(id)).rows.map(({ kind }) => kind)).toEqual(kinds);
  const endedAt = await readDatabaseTime();
  const startHour = Math.floor(startedAt.getTime() / hourMs) * hourMs;
  for (const { kind, at } of (await readHistory(id)).rows) {
    const isHour = kind === "admitted" || kind === "no-member";
    // The recorder reads its clock once per flush, every 50 ms. The clock can differ from the database's by
    // half the round trip of its last synchronization.
    const earliest = isHour ? startHour : startedAt.getTime() - toleranceMs;
    const latest = endedAt.getTime() + toleranceMs;
    expect([kind, at.getTime() >= earliest, at.getTime() <= latest]).toEqual([kind, true, true]);
  }
});
