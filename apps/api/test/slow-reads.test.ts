import { encodeId, type UserId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { defaultDeadlines } from "../src/deadlines.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

// Slow reads of one user must not delay the requests of other users.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** The number of requests in flight, as in the attack that was measured. */
const concurrency = 12;
/** The guaranteed response time. */
const maxResponseMs = 2_000;

interface TimedResponse {
  readonly status: number;
  readonly tookMs: number;
}

async function send(url: string, headers: Record<string, string>): Promise<TimedResponse> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers });
  await response.text();
  return { status: response.status, tookMs: performance.now() - startedAt };
}

/** Creates a user with a workspace, a key and a session. */
async function addCaller({ addUser, addKey, services, baseUrl } = app) {
  const { userId, email } = await addUser();
  const { secret } = await addKey(userId);
  const { id } = await services.db
    .transaction()
    .execute((trx) =>
      createWorkspace(trx, { name: "Team", ownerId: userId, origin: commandOrigin }, defaultQuotas),
    );
  const response = await fetch(`${baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const [cookie = ""] = response.headers.getSetCookie();
  const byKey = { Authorization: `Bearer ${secret}` };
  const bySession = { Cookie: cookie.split(";")[0] ?? "" };
  const workspaceId = encodeId("workspace", id);
  const input = encodeURIComponent(JSON.stringify({ workspaceId }));
  return {
    userId,
    /** Reads of the audit log, which {@link lockAuditLog} blocks. */
    blocked: {
      open: () => send(`${baseUrl}/open/workspaces/${workspaceId}/audit-events`, byKey),
      trpc: () => send(`${baseUrl}/trpc/audit.list?input=${input}`, bySession),
    },
    /** Reads of everything else. */
    free: {
      open: () =>
        Promise.all(
          ["/open/me", "/open/api-keys", "/open/workspaces"].map((path) => send(baseUrl + path, byKey)),
        ),
      trpc: () =>
        Promise.all(
          ["session.current", "apiKeys.list?input={}"].map((call) =>
            send(`${baseUrl}/trpc/${call}`, bySession),
          ),
        ),
    },
    config: () => send(`${baseUrl}/open/global/config`, byKey),
    search: (text: string) => send(`${baseUrl}/open/api-keys?search=${encodeURIComponent(text)}`, byKey),
  };
}

/** Blocks every read of the audit log until the returned function is called. */
function lockAuditLog({ database } = app): Promise<() => Promise<unknown>> {
  return holdLocks(database, "lock table audit_events in access exclusive mode");
}

test.each(["open", "trpc"] as const)(
  "on /%s, a user's blocked reads hold at most two connections, and other users get responses",
  async (side) => {
    const [slow, other] = [await addCaller(), await addCaller()];
    const unlock = await lockAuditLog();
    const reads = Promise.all(Array.from({ length: concurrency }, () => slow.blocked[side]()));
    await expect.poll(() => countWaiting(app.owner)).toBe(2);
    const answers = await other.free[side]();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await countWaiting(app.owner)).toBe(2);
    await unlock();
    await reads;
  },
);

test.each([
  ["session.resetAccount", {}],
  ["invitations.preview", {}],
  ["session.signUpInvited", { name: "Ada", password }],
])(
  "reads of %s without a session hold at most two connections per network, and users get responses",
  async (procedure, fields) => {
    const user = await addCaller();
    const unlock = await holdLocks(app.database, "lock table verifications in access exclusive mode");
    const calls = Promise.all(
      Array.from({ length: concurrency }, () =>
        fetch(`${app.baseUrl}/trpc/${procedure}`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ token: "unknown", ...fields }),
        }),
      ),
    );
    await expect.poll(() => countWaiting(app.owner)).toBe(2);
    const answers = await user.free.trpc();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await countWaiting(app.owner)).toBe(2);
    await unlock();
    expect((await calls).map(({ status }) => status)).toEqual(Array.from({ length: concurrency }, () => 404));
  },
);

test("a read that takes longer than a second is canceled, and its connection is reused", async () => {
  const { responseMs, reads: timeouts } = defaultDeadlines;
  const own = await startTestApp({ deadlines: { responseMs, reads: timeouts } });
  onTestFinished(() => own.close());
  const slow = await addCaller(own);
  const { config } = await addCaller(own);
  const unlock = await lockAuditLog(own);
  const stopMeasuring = measureSlowest(config);
  const reads = await Promise.all(Array.from({ length: concurrency }, () => slow.blocked.open()));
  const slowestMs = await stopMeasuring();
  expect(reads.map(({ status }) => status)).toEqual(reads.map(() => 503));
  const took = reads.map(({ tookMs }) => tookMs).toSorted((left, right) => left - right);
  expect(took[0]).toBeGreaterThan(900);
  expect(took.at(-1)).toBeLessThan(maxResponseMs + slowestMs);
  expect((await slow.free.open()).map(({ status }) => status)).toEqual([200, 200, 200]);
  await unlock();
  expect((await slow.blocked.open()).status).toBe(200);
});

test("a request that reads nothing gets a response while all connections for reads are in use", async () => {
  const { readConnections } = app.services;
  const users = await Promise.all(Array.from({ length: Math.ceil(readConnections / 2) }, addCaller));
  const other = await addCaller();
  const unlock = await lockAuditLog();
  const reads = users.flatMap(({ blocked }) => [blocked.open(), blocked.open()]);
  await expect.poll(() => countWaiting(app.owner)).toBe(readConnections);
  expect((await other.config()).status).toBe(200);
  await unlock();
  await Promise.all(reads);
});

test("a connection for reads rejects changes", async () => {
  const { readDb } = app.services;
  await expect(sql`delete from idempotency_records`.execute(readDb)).rejects.toMatchObject({ code: "25006" });
});

/** Creates keys whose descriptions almost match the search, which makes it slow. */
async function addKeys(userId: UserId, count: number): Promise<void> {
  await sql`
    with made as (
      insert into api_keys (id, user_id, name, description, start, hash)
      select gen_random_uuid(), ${userId}, 'Key number ' || n, repeat('x', 500), 'lk_abcdef',
        sha256(uuid_send(gen_random_uuid()))
      from generate_series(1, ${count}::integer) n
      returning id
    )
    insert into key_counters (key_id) select id from made`.execute(app.owner);
}

test("other users get timely responses while a user with 7,700 keys runs 12 searches at a time", async () => {
  const [searcher, other] = [await addCaller(), await addCaller()];
  await addKeys(searcher.userId, 7_700);
  const rounds = 5;
  let isStopped = false;
  const stopMeasuring = measureSlowest(other.config);
  const searches = Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!isStopped) await searcher.search(`${"x".repeat(99)}y`);
    }),
  );
  const responses: TimedResponse[] = [];
  for (let round = 0; round < rounds; round += 1) {
    responses.push(...(await other.free.open()), ...(await other.free.trpc()));
  }
  isStopped = true;
  await searches;
  const slowestMs = await stopMeasuring();
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect(Math.max(...responses.map(({ tookMs }) => tookMs))).toBeLessThan(maxResponseMs + slowestMs);
});
