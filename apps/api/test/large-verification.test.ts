import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { digestKey } from "@latchkey/auth/key-format";
import { createId, decodeId } from "@latchkey/db/ids";
import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addTeam, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

// The largest request that verifies keys.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const keyCount = 100;
const permissions = Array.from({ length: 100 }, (_, index) => `area${index % 10}.resource${index}.*`);
const limits = Array.from({ length: 10 }, (_, index) => ({
  name: `l${index}`,
  quota: 1_000_000,
  windowSeconds: 3_600,
  appliesAlways: true,
}));
/** A JSON object of 4 KiB with many members, which takes longer than one long text. */
const meta = Object.fromEntries(
  Array.from({ length: 170 }, (_, index) => [`member${index + 100}`, "0123456789"]),
);
/** Alternatives of which only the last one is satisfied, so that every term is checked. */
const query = Array.from({ length: 50 }, (_, index) =>
  index < 49 ? `a.b.c${index}` : "area9.resource99.read",
).join(" OR ");

/** Inserts keys with as much data of their own as possible. */
async function issueKeys({ id }: Team): Promise<readonly string[]> {
  const [workspaceId, keyspaceId] = [decodeId("workspace", id), createId("keyspace")];
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    values (${workspaceId}, ${keyspaceId}, 'API', 'acme')`.execute(app.owner);
  const secrets = Array.from({ length: keyCount }, () => `acme_${randomBytes(24).toString("hex")}`);
  for (const secret of secrets) {
    const keyId = createId("issuedKey");
    await sql`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start, name, meta, permissions, limits)
      values (${workspaceId}, ${keyspaceId}, ${keyId}, ${Buffer.from(digestKey(secret), "base64")}, 'acme_', 'Key',
        ${JSON.stringify(meta)}, ${permissions}, ${JSON.stringify(limits)})`.execute(app.owner);
    await sql`insert into key_counters (key_id) values (${keyId})`.execute(app.owner);
  }
  return secrets;
}

/** The most processor time of this thread, in milliseconds, between two turns of the event loop while `run` is pending. */
async function measureLongestTurn(run: () => Promise<unknown>): Promise<number> {
  let [longestMs, isDone] = [0, false];
  const turns = (async () => {
    while (!isDone) {
      const before = process.threadCpuUsage();
      await setImmediate();
      const { user, system } = process.threadCpuUsage(before);
      longestMs = Math.max(longestMs, (user + system) / 1_000);
    }
  })();
  await run();
  isDone = true;
  await turns;
  return longestMs;
}

/**
 * The bound: five of the largest requests at the same time, which are one batch, block the event loop for at most seven times
 * as long as the JSON of one of their responses takes to be parsed and written. That is about 20 ms. If all five were presented
 * in one turn, it would be at least ten times.
 */
const maxShare = 7;

test("several of the largest requests at the same time block the event loop for a bounded time", async () => {
  const team = await addTeam(app);
  const secrets = await issueKeys(team);
  expect(JSON.stringify(meta).length).toBeGreaterThan(4_000);
  const verification = { permissions: query, limits: limits.map(({ name }) => ({ name })) };
  const body = JSON.stringify({ verifications: secrets.map((key) => ({ key, ...verification })) });
  const send = async (): Promise<string> => {
    const response = await fetch(`${app.baseUrl}/open/keys/verify-batch`, {
      method: "POST",
      headers: { Authorization: `Bearer ${team.owner.secret}`, "Content-Type": "application/json" },
      body,
    });
    expect(response.status).toBe(200);
    return await response.text();
  };
  const text = await send();
  const { data } = JSON.parse(text) as { readonly data: readonly { readonly code: string }[] };
  expect(new Set(data.map(({ code }) => code))).toEqual(new Set(["VALID"]));
  const sendFive = () => Promise.all(Array.from({ length: 5 }, send));
  const shares = [];
  // The smallest one: a garbage collection can only make a turn longer.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const turnMs = await measureLongestTurn(sendFive);
    const jsonMs = await measureLeastCpuMs(() => {
      for (let round = 0; round < 5; round += 1) JSON.stringify(JSON.parse(text));
    });
    shares.push((5 * turnMs) / jsonMs);
  }
  console.info(`longest turns, as shares of the JSON: ${shares.map((share) => share.toFixed(1)).join(", ")}`);
  expect(Math.min(...shares)).toBeLessThan(maxShare);
});
