import { clientConfig } from "@latchkey/db/connection";
import { encodeId, type UserId } from "@latchkey/db/ids";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

// One user's slow reads, and what other users notice of them.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** How many requests the attack measured before has under way. */
const attackers = 12;
/** An answer is promised within two seconds. */
const promisedMs = 2_000;

interface Answer {
  readonly status: number;
  readonly tookMs: number;
}

async function ask(path: string, headers: Record<string, string>): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(app.baseUrl + path, { headers });
  await response.text();
  return { status: response.status, tookMs: performance.now() - startedAt };
}

/** A user with a workspace, by key and by session. */
async function addCaller() {
  const { userId, email } = await app.addUser();
  const { secret } = await app.addKey(userId);
  const { id } = await app.instance.db
    .transaction()
    .execute((trx) =>
      createWorkspace(trx, { name: "Team", ownerId: userId, origin: commandOrigin }, defaultQuotas),
    );
  const response = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
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
      open: () => ask(`/open/workspaces/${workspaceId}/audit-events`, byKey),
      trpc: () => ask(`/trpc/audit.list?input=${input}`, bySession),
    },
    /** Reads of everything else. */
    free: {
      open: () =>
        Promise.all(["/open/me", "/open/api-keys", "/open/workspaces"].map((path) => ask(path, byKey))),
      trpc: () =>
        Promise.all(
          ["session.current", "apiKeys.list?input={}"].map((call) => ask(`/trpc/${call}`, bySession)),
        ),
    },
    config: () => ask("/open/global/config", byKey),
    search: (text: string) => ask(`/open/api-keys?search=${encodeURIComponent(text)}`, byKey),
  };
}

async function openClient(): Promise<pg.Client> {
  const client = new pg.Client({
    ...clientConfig(inject("postgres"), "test locker"),
    database: app.database,
  });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Has every read of the audit log wait until the function returned is called. */
async function lockAuditLog(): Promise<() => Promise<unknown>> {
  const client = await openClient();
  await client.query("begin");
  await client.query("lock table audit_events in access exclusive mode");
  return () => client.query("commit");
}

/**
 * Reads what waits for nothing again and again until it is stopped; stopping returns how long the slowest took, in
 * milliseconds. A busy machine delays other answers as much.
 */
function watchLag(read: () => Promise<Answer>): () => Promise<number> {
  let [isOver, slowestMs] = [false, 0];
  const watched = (async () => {
    while (!isOver) slowestMs = Math.max(slowestMs, (await read()).tookMs);
  })();
  return async () => {
    isOver = true;
    await watched;
    return slowestMs;
  };
}

async function countWaiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.owner);
  return rows[0]?.count ?? 0;
}

test.each(["open", "trpc"] as const)(
  "over %s, a user's reads that block hold two connections at most, and other users are answered meanwhile",
  async (side) => {
    const [slow, other] = [await addCaller(), await addCaller()];
    const unlock = await lockAuditLog();
    let [isOver, mostWaiting] = [false, 0];
    const watch = async (): Promise<void> => {
      while (!isOver) mostWaiting = Math.max(mostWaiting, await countWaiting());
    };
    const reads = Promise.all(Array.from({ length: attackers }, () => slow.blocked[side]()));
    const watched = watch();
    await expect.poll(() => mostWaiting).toBeGreaterThanOrEqual(2);
    const answers = await other.free[side]();
    isOver = true;
    await watched;
    await unlock();
    await reads;
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(mostWaiting).toBe(2);
  },
);

test("a read that takes longer than a second is cancelled, and its connection serves the next one", async () => {
  const slow = await addCaller();
  const { config } = await addCaller();
  const unlock = await lockAuditLog();
  const stopWatching = watchLag(config);
  const reads = await Promise.all(Array.from({ length: attackers }, () => slow.blocked.open()));
  const lagMs = await stopWatching();
  expect(reads.map(({ status }) => status)).toEqual(reads.map(() => 503));
  const took = reads.map(({ tookMs }) => tookMs).toSorted((one, another) => one - another);
  expect(took[0]).toBeGreaterThan(900);
  expect(took.at(-1)).toBeLessThan(promisedMs + lagMs);
  expect((await slow.free.open()).map(({ status }) => status)).toEqual([200, 200, 200]);
  await unlock();
  expect((await slow.blocked.open()).status).toBe(200);
});

test("with every connection for reads taken, what reads nothing is answered all the same", async () => {
  const { readConnections } = app.instance;
  const users = await Promise.all(Array.from({ length: Math.ceil(readConnections / 2) }, addCaller));
  const other = await addCaller();
  const unlock = await lockAuditLog();
  const reads = users.flatMap(({ blocked }) => [blocked.open(), blocked.open()]);
  await expect.poll(countWaiting).toBe(readConnections);
  expect((await other.config()).status).toBe(200);
  await unlock();
  await Promise.all(reads);
});

test("a connection for reads changes nothing", async () => {
  const { readDb } = app.instance;
  await expect(sql`delete from idempotency_records`.execute(readDb)).rejects.toMatchObject({ code: "25006" });
});

/** Gives a user many keys whose descriptions almost contain the search. */
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

test("while a user with 7,700 keys searches over twelve connections, every other user is answered in time", async () => {
  const [searcher, other] = [await addCaller(), await addCaller()];
  await addKeys(searcher.userId, 7_700);
  const rounds = 5;
  let isOver = false;
  const searches = Promise.all(
    Array.from({ length: attackers }, async () => {
      while (!isOver) await searcher.search(`${"x".repeat(99)}y`);
    }),
  );
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) {
    answers.push(...(await other.free.open()), ...(await other.free.trpc()));
  }
  isOver = true;
  await searches;
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(promisedMs);
});
