import { randomUUID } from "node:crypto";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { deleteApiKey } from "@latchkey/db/api-key-changes";
import { findApiKey } from "@latchkey/db/api-keys";
import type { WorkspaceId } from "@latchkey/db/ids";
import { isReadOnlyServer } from "@latchkey/db/sqlstate";
import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { disableUser } from "@latchkey/db/users";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, admitted, patientMs, patientTimeouts, type TestKey } from "./admission.test-kit.ts";
import { Admission } from "./admission.ts";
import { AdmissionConnection } from "./admission-connection.ts";
import type { AdmissionOptions } from "./options.ts";
import { sessionSettings } from "./session-settings.ts";
import { admissionTimeouts } from "./timeouts.ts";
import type { Verdict } from "./verdict.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addUser, addKey, addKnownKeys, hold } = admissionKit(() => database);

async function countUses(key: TestKey): Promise<number | undefined> {
  return (await findApiKey(database.db, key))?.usageCount;
}

/** A query that waits for nothing except a busy machine. */
const readNothing = () => sql`select`.execute(database.owner);

async function remove(key: TestKey): Promise<void> {
  await database.db.transaction().execute((trx) => deleteApiKey(trx, key));
}

/** Opens a node. The returned function runs a task and counts the statements that it makes the node send. */
function openWatchedNode(
  options: Partial<AdmissionOptions> = {},
): [Admission, <Result>(task: () => Promise<Result>) => Promise<[Result, number]>] {
  let statements = 0;
  const node = openNode({
    ...options,
    onStatement: () => {
      statements += 1;
    },
  });
  return [
    node,
    async (task) => {
      statements = 0;
      return [await task(), statements];
    },
  ];
}

/** Makes every statement that counts uses take this long, until the returned function is called or the test ends. */
async function slowDown(seconds: number): Promise<() => Promise<void>> {
  await sql`
    create function linger() returns trigger language plpgsql as
      $$ begin perform pg_sleep(tg_argv[0]::double precision); return null; end $$`.execute(database.owner);
  const speedUp = async () => {
    await sql`drop function if exists linger cascade`.execute(database.owner);
  };
  onTestFinished(speedUp);
  await sql`
    create trigger linger before update on key_counters
    for each statement execute function linger(${sql.lit(seconds)})`.execute(database.owner);
  return speedUp;
}

/** Opens a node that remembers these keys. `sent` returns the number of statements that it has sent since. */
async function openRecordedNode(
  keys: readonly TestKey[],
  options: Partial<AdmissionOptions> = {},
): Promise<{ readonly node: Admission; readonly failures: unknown[]; readonly sent: () => number }> {
  const failures: unknown[] = [];
  let statements = 0;
  const node = openNode({
    ...options,
    onFailure: (error) => failures.push(error),
    onStatement: () => {
      statements += 1;
    },
  });
  for (const key of keys) await node.admit(key.secret);
  statements = 0;
  return { node, failures, sent: () => statements };
}

test("allows a valid key on behalf of its user and counts the use before it answers", async () => {
  const node = openNode();
  const key = await addKey();
  expect(await node.admit(key.secret)).toMatchObject({
    kind: "admitted",
    principal: { keyId: key.id, userId: key.userId },
  });
  expect(await countUses(key)).toBe(1);
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  expect(await findApiKey(database.db, key)).toMatchObject({ usageCount: 2, lastUsedAt: expect.any(Date) });
});

test("counts exactly the requests with one key that two nodes allow, with 200 concurrent requests", async () => {
  const nodes = [openNode(), openNode()] as const;
  const key = await addKey();
  const rounds = 10;
  let total = 0;
  for (let round = 0; round < rounds; round += 1) {
    total += admitted(
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => nodes[index % 2 === 0 ? 0 : 1].admit(key.secret)),
      ),
    );
  }
  expect(total).toBe(200 * rounds);
  expect(await countUses(key)).toBe(total);
});

test("counts each of many keys separately when two nodes use them in opposite orders", async () => {
  const nodes = [openNode(), openNode()] as const;
  const userId = await addUser();
  const keys = await Promise.all(Array.from({ length: 60 }, () => addKey(userId)));
  for (let round = 0; round < 5; round += 1) {
    const verdicts = await Promise.all([
      ...keys.map((key) => nodes[0].admit(key.secret)),
      ...keys.toReversed().map((key) => nodes[1].admit(key.secret)),
    ]);
    expect(admitted(verdicts)).toBe(120);
  }
  for (const key of keys) expect(await countUses(key)).toBe(10);
});

test("rejects a key that has just been deleted, on nodes that remember it", async () => {
  const nodes = [openNode(), openNode()];
  for (let round = 0; round < 20; round += 1) {
    const key = await addKey();
    for (const node of nodes) expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
    await remove(key);
    for (const node of nodes)
      expect(await node.admit(key.secret)).toMatchObject({ kind: "rejected", reason: "deleted" });
  }
});

test("under load, allows no request that arrives after a deletion was acknowledged", async () => {
  const nodes = [openNode(), openNode()];
  for (let round = 0; round < 10; round += 1) {
    const key = await addKey();
    let isDeleted = false;
    const stale: Verdict[] = [];
    const traffic = nodes.map(async (node) => {
      for (let count = 0; count < 40; count += 1) {
        const arrivedAfter = isDeleted;
        const verdict = await node.admit(key.secret);
        if (arrivedAfter && verdict.kind === "admitted") stale.push(verdict);
      }
    });
    await nodes[0]?.admit(key.secret);
    await remove(key);
    isDeleted = true;
    await Promise.all(traffic);
    expect(stale).toEqual([]);
  }
});

test("rejects every key of a disabled user on the next request, on every node", async () => {
  const nodes = [openNode(), openNode()];
  const userId = await addUser();
  const keys = await Promise.all([addKey(userId), addKey(userId), addKey(userId)]);
  for (const node of nodes)
    for (const key of keys) expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  await database.db.transaction().execute((trx) => disableUser(trx, userId));
  for (const node of nodes) {
    for (const key of keys)
      expect(await node.admit(key.secret)).toMatchObject({ kind: "rejected", reason: "user-disabled" });
  }
});

test("a wrong checksum takes no query, and a forged key takes one", async () => {
  const [node, watch] = openWatchedNode();
  const { secret } = createApiKey();
  const typo = secret.slice(0, 10) + (secret[10] === "a" ? "b" : "a") + secret.slice(11);
  expect(await watch(() => node.admit(typo))).toEqual([{ kind: "rejected", reason: "malformed" }, 0]);
  expect(await watch(() => node.admit(secret))).toEqual([{ kind: "rejected", reason: "unknown" }, 1]);
});

test("a request with a remembered key takes one statement, and so do all requests in the queue together", async () => {
  const [node, watch] = openWatchedNode();
  const key = await addKey();
  await node.admit(key.secret);
  expect((await watch(() => node.admit(key.secret)))[1]).toBe(1);
  const [verdicts, statements] = await watch(() =>
    Promise.all(Array.from({ length: 300 }, () => node.admit(key.secret))),
  );
  expect(admitted(verdicts)).toBe(300);
  expect(statements).toBe(1);
});

test("a batch is sent behind another one as soon as it is as large, and a third waits for one of them", async () => {
  const key = await addKey();
  const { node, sent } = await openRecordedNode([key], { statementTimeoutMs: patientMs });
  await slowDown(1);
  const admitSeveral = async (count: number): Promise<Promise<Verdict>[]> => {
    const verdicts = Array.from({ length: count }, () => node.admit(key.secret));
    await setImmediate();
    return verdicts;
  };
  const first = await admitSeveral(3);
  let isFirstAnswered = false;
  void Promise.race(first).then(() => {
    isFirstAnswered = true;
  });
  expect(sent()).toBe(1);
  const second = await admitSeveral(2);
  expect(sent()).toBe(1);
  second.push(...(await admitSeveral(1)));
  expect(sent()).toBe(2);
  const third = await admitSeveral(5);
  expect(sent()).toBe(2);
  // All of this happened while the first batch was in flight.
  expect(isFirstAnswered).toBe(false);

  expect(admitted(await Promise.all(first))).toBe(3);
  await setImmediate();
  // The third batch is larger than the second, which is now the only one in flight.
  expect(sent()).toBe(3);
  expect(admitted(await Promise.all([...second, ...third]))).toBe(8);
  expect(sent()).toBe(3);
  expect(await countUses(key)).toBe(12);
});

test("Postgres receives the second batch before it finishes the first, so that it does not wait for a busy node", async () => {
  const keys = [await addKey(), await addKey()] as const;
  const { node, sent } = await openRecordedNode(keys, { deadlineMs: 10_000 });
  await slowDown(0.1);
  const verdicts: Promise<Verdict>[] = [];
  for (const { secret } of keys) {
    verdicts.push(node.admit(secret));
    await setImmediate();
  }
  expect(sent()).toBe(2);
  // Much longer than the statements take on a busy machine.
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  expect(admitted(await Promise.all(verdicts))).toBe(2);
  const [ahead = 0, behind = 0] = (await Promise.all(keys.map((key) => findApiKey(database.db, key)))).map(
    (row) => row?.lastUsedAt?.getTime(),
  );
  expect(behind - ahead).toBeLessThan(1_200);
});

test("a batch that must be retried does not affect the batch behind it", async () => {
  const [held, free] = [await addKey(), await addKey()];
  const { node, sent } = await openRecordedNode([held, free]);
  const release = await hold(held);
  const delayed = node.admit(held.secret);
  await setImmediate();
  expect(sent()).toBe(1);
  const behind = node.admit(free.secret);
  await setImmediate();
  expect(sent()).toBe(2);
  expect(await behind).toMatchObject({ kind: "admitted" });
  await release();
  expect(await delayed).toMatchObject({ kind: "admitted" });
  expect(await Promise.all([held, free].map(countUses))).toEqual([2, 2]);
});

test("the deadline of two pipelined statements is twice that of one, and each request keeps its own deadline", async () => {
  const key = await addKey();
  const [deadlineMs, statementTimeoutMs] = [3_000, 10_000];
  const { node, failures, sent } = await openRecordedNode([key], { deadlineMs, statementTimeoutMs });
  await slowDown(2);
  const ahead = node.admit(key.secret);
  await setImmediate();
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(readNothing);
  const behind = node.admit(key.secret);
  await setImmediate();
  expect(sent()).toBe(2);
  expect(await ahead).toMatchObject({ kind: "admitted" });
  expect(await behind).toMatchObject({ kind: "unavailable" });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(deadlineMs + 250 + (await stopMeasuring()));
  // The connection was kept, so the second statement is committed too.
  await expect.poll(() => countUses(key)).toBe(3);
  expect(failures).toEqual([]);
});

test("a row that another transaction locks delays only its own key", async () => {
  const node = openNode();
  const [held, free] = [await addKey(), await addKey()];
  await Promise.all([node.admit(held.secret), node.admit(free.secret)]);
  const release = await hold(held);

  const delayed = node.admit(held.secret);
  const stopMeasuring = measureSlowest(readNothing);
  const took: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const startedAt = performance.now();
    expect(await node.admit(free.secret)).toMatchObject({ kind: "admitted" });
    took.push(performance.now() - startedAt);
  }
  expect(Math.max(...took)).toBeLessThan(1_000 + (await stopMeasuring()));
  await release();
  expect(await delayed).toMatchObject({ kind: "admitted" });
  expect(await countUses(held)).toBe(2);
});

test("successive requests with a locked key time out without affecting other keys", async () => {
  const userId = await addUser();
  const held = await addKey(userId);
  const free = await Promise.all(Array.from({ length: 50 }, () => addKey(userId)));
  const useWhileHeld = async (deadlineMs: number) => {
    const failures: unknown[] = [];
    const statementTimeoutMs = Math.max(deadlineMs, admissionTimeouts.statementTimeoutMs);
    const node = openNode({ deadlineMs, statementTimeoutMs, onFailure: (error) => failures.push(error) });
    for (const key of [held, ...free]) await node.admit(key.secret);
    const release = await hold(held);
    const stopMeasuring = measureSlowest(readNothing);
    const late: Promise<Verdict>[] = [];
    const verdicts: Verdict[] = [];
    // For three deadlines, some request with the locked key is always about to time out.
    const until = performance.now() + 3 * deadlineMs;
    while (performance.now() < until || late.length < 10) {
      late.push(node.admit(held.secret));
      verdicts.push(...(await Promise.all(free.map(({ secret }) => node.admit(secret)))));
    }
    const slowestMs = await stopMeasuring();
    await release();
    const timedOut = (await Promise.all(late)).filter(({ kind }) => kind === "unavailable").length;
    const affected = verdicts.length - admitted(verdicts) + failures.length;
    return { timedOut, affected, slowestMs };
  };
  // Longer than a busy machine usually needs for a request with another key.
  let deadlineMs = 900;
  let last = await useWhileHeld(deadlineMs);
  // A machine that delays a query by half the deadline also delays requests by a whole one. Each attempt has a deadline of at least
  // twice the former one.
  for (let attempt = 2; attempt <= 5 && last.affected > 0 && last.slowestMs > deadlineMs / 2; attempt += 1) {
    deadlineMs = 4 * last.slowestMs;
    last = await useWhileHeld(deadlineMs);
  }
  expect(last.timedOut).toBeGreaterThan(5);
  expect(last.affected).toBe(0);
});

test("a request whose row stays locked past the deadline is rejected as unavailable in time", async () => {
  const node = openNode({ deadlineMs: 400 });
  const key = await addKey();
  await node.admit(key.secret);
  const release = await hold(key);
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(readNothing);
  expect(await node.admit(key.secret)).toMatchObject({ kind: "unavailable" });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(1_000 + (await stopMeasuring()));
  await release();
  // A busy machine can take longer than this deadline, too.
  await expect.poll(() => node.admit(key.secret)).toMatchObject({ kind: "admitted" });
});

test("immediately answers unavailable to requests beyond the size of the queue", async () => {
  const node = openNode({ maxWaiting: 5 });
  const keys = await addKnownKeys(node, 10);
  const verdicts = await Promise.all(keys.map(({ secret }) => node.admit(secret)));
  const unavailable = verdicts.filter((verdict) => verdict.kind === "unavailable");
  expect(unavailable).toHaveLength(5);
  expect(unavailable[0]).toEqual({ kind: "unavailable", retryAfterSeconds: 1 });
  const uses = await Promise.all(keys.map(countUses));
  expect(uses.reduce((total = 0, count = 0) => total + count)).toBe(10 + admitted(verdicts));
});

test("the requests of one user, with all keys together, take at most half of the queue", async () => {
  const node = openNode({ maxWaiting: 10 });
  const userId = await addUser();
  const [first, second, other] = [await addKey(userId), await addKey(userId), await addKey()];
  for (const key of [first, second, other]) await node.admit(key.secret);
  const crowd = Array.from({ length: 20 }, (_, index) =>
    node.admit(index % 2 === 0 ? first.secret : second.secret),
  );
  const others = Array.from({ length: 3 }, () => node.admit(other.secret));
  expect(admitted(await Promise.all(others))).toBe(3);
  const verdicts = await Promise.all(crowd);
  expect([admitted(verdicts), verdicts.filter(({ kind }) => kind === "unavailable").length]).toEqual([5, 15]);
});

test("rejected requests of a known key, and requests with an unknown key, leave room for other users", async () => {
  const node = openNode({ maxWaiting: 12 });
  const [key, unused] = [await addKey(), await addKey()];
  await node.admit(key.secret);
  const forged = createApiKey().secret;
  const requirement = { workspaceId: randomUUID() as WorkspaceId, permission: "members:read" } as const; // No workspace has this ID.
  const rejected = Array.from({ length: 20 }, () => node.admit(key.secret, requirement));
  const unknown = Array.from({ length: 20 }, () => node.admit(forged));
  const first = node.admit(unused.secret);
  expect(await first).toMatchObject({ kind: "admitted" });
  const count = async (verdicts: readonly Promise<Verdict>[]) =>
    (await Promise.all(verdicts)).filter(({ kind }) => kind === "rejected").length;
  expect([await count(rejected), await count(unknown)]).toEqual([3, 2]);
});

test("the user of a key is known after the node's connection was lost", async () => {
  const node = openNode({ maxWaiting: 10 });
  const [key, other] = [await addKey(), await addKey()];
  for (const { secret } of [key, other]) await node.admit(secret);
  await database.setAvailable(false);
  await expect.poll(() => node.isAvailable()).toBe(false);
  await database.setAvailable(true);
  const third = await addKey();
  await expect.poll(() => node.admit(third.secret)).toMatchObject({ kind: "admitted" });
  const crowd = Array.from({ length: 20 }, () => node.admit(key.secret));
  const others = Array.from({ length: 3 }, () => node.admit(other.secret));
  expect([admitted(await Promise.all(crowd)), admitted(await Promise.all(others))]).toEqual([5, 3]);
});

test("requests that wait for a locked row take at most half of the queue", async () => {
  const node = openNode({ maxWaiting: 12 });
  const [held, alsoHeld, free] = [await addKey(), await addKey(), await addKey()];
  for (const { secret } of [held, alsoHeld, free]) await node.admit(secret);
  const releases = [await hold(held), await hold(alsoHeld)];
  const delayed = [
    ...Array.from({ length: 6 }, () => node.admit(held.secret)),
    ...Array.from({ length: 3 }, () => node.admit(alsoHeld.secret)),
  ];
  // When this request is allowed, the others have met the locked rows: six were postponed, and three were answered
  // unavailable.
  expect(await node.admit(free.secret)).toMatchObject({ kind: "admitted" });
  expect(admitted(await Promise.all(Array.from({ length: 3 }, () => node.admit(free.secret))))).toBe(3);
  for (const release of releases) await release();
  expect(admitted(await Promise.all(delayed))).toBe(6);
  expect(await Promise.all([held, alsoHeld].map(countUses))).toEqual([7, 1]);
});

test("requests that are retried after a locked row still count as blocked, so that others keep half of the queue", async () => {
  const slowly = (): void => {
    const until = performance.now() + 8;
    while (performance.now() < until);
  };
  const node = openNode({ maxWaiting: 4_096, onStatement: slowly });
  const [held, alsoHeld, free] = [await addKey(), await addKey(), await addKey()];
  for (const { secret } of [held, alsoHeld, free]) await node.admit(secret);
  const releases = [await hold(held), await hold(alsoHeld)];
  const startedAt = performance.now();
  const delayed = [
    ...Array.from({ length: 2_048 }, () => node.admit(held.secret)),
    ...Array.from({ length: 1_024 }, () => node.admit(alsoHeld.secret)),
  ];
  expect(await Promise.race(delayed)).toMatchObject({ kind: "unavailable" });
  // The queue rejected it, not its deadline.
  expect(performance.now() - startedAt).toBeLessThan(patientMs / 2);
  expect(await node.admit(free.secret)).toMatchObject({ kind: "admitted" });
  for (const release of releases) await release();
  expect(admitted(await Promise.all(delayed))).toBe(2_048);
});

test("continues after all requests that met a locked row were rejected as unavailable", async () => {
  const node = openNode({ maxWaiting: 1 });
  const [held, free] = [await addKey(), await addKey()];
  for (const key of [held, free]) await node.admit(key.secret);
  const release = await hold(held);
  expect(await node.admit(held.secret)).toMatchObject({ kind: "unavailable" });
  // Longer than the delay before a retry.
  await delay(50);
  expect(await node.admit(free.secret)).toMatchObject({ kind: "admitted" });
  await release();
});

test("requests with unknown keys take at most half of the queue", async () => {
  const node = openNode({ maxWaiting: 10 });
  const key = await addKey();
  await node.admit(key.secret);
  const forged = Array.from({ length: 20 }, () => node.admit(createApiKey().secret));
  const known = Array.from({ length: 3 }, () => node.admit(key.secret));
  expect(admitted(await Promise.all(known))).toBe(3);
  const verdicts = await Promise.all(forged);
  expect(verdicts.filter(({ kind }) => kind === "rejected")).toHaveLength(5);
  expect(verdicts.filter(({ kind }) => kind === "unavailable")).toHaveLength(15);
});

test("isAvailable answers even while the queue is full", async () => {
  const node = openNode({ maxWaiting: 3 });
  const keys = await addKnownKeys(node, 4);
  const waiting = keys.map(({ secret }) => node.admit(secret));
  expect(await node.isAvailable()).toBe(true);
  expect(admitted(await Promise.all(waiting))).toBe(3);
});

test("a table that another transaction locks briefly delays requests, but rejects none", async () => {
  const node = openNode();
  const key = await addKey();
  await node.admit(key.secret);
  const blocker = new pg.Client(testClientConfig(database.connection, "blocker"));
  await blocker.connect();
  onTestFinished(() => blocker.end());
  await blocker.query("begin; lock table key_counters in exclusive mode");
  const delayed = node.admit(key.secret);
  // The statement waits 100 ms for the lock: this is longer than three attempts.
  await blocker.query("select pg_sleep(0.4); commit");
  expect(await delayed).toMatchObject({ kind: "admitted" });
  expect(await countUses(key)).toBe(2);
});

test("a table that is locked while a statement is prepared does not affect the batch behind it", async () => {
  const key = await addKey();
  const failures: unknown[] = [];
  const node = openNode({ onFailure: (error) => failures.push(error) });
  const blocker = new pg.Client(testClientConfig(database.connection, "blocker"));
  await blocker.connect();
  onTestFinished(() => blocker.end());
  for (const round of [1, 2]) {
    await blocker.query("begin; lock table key_counters in access exclusive mode");
    const verdicts: Promise<Verdict>[] = [];
    for (let batch = 0; batch < 3; batch += 1) {
      verdicts.push(node.admit(key.secret));
      await setImmediate();
    }
    await blocker.query("select pg_sleep(0.3); commit");
    expect(admitted(await Promise.all(verdicts))).toBe(3);
    expect(failures).toEqual([]);
    expect(await countUses(key)).toBe(3 * round);
  }
});

test("answers unavailable while the database is unavailable, and recovers by itself", async () => {
  const failures: unknown[] = [];
  const node = openNode({ onFailure: (error) => failures.push(error) });
  const key = await addKey();
  await node.admit(key.secret);
  await database.setAvailable(false);
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(() => setImmediate());
  expect(await node.admit(key.secret)).toMatchObject({ kind: "unavailable" });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(2_000 + (await stopMeasuring()));
  expect(await node.isAvailable()).toBe(false);
  await database.setAvailable(true);
  // After a failed attempt to connect, the next one waits for a short backoff.
  await expect.poll(() => node.isAvailable()).toBe(true);
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  expect(failures.length).toBeGreaterThan(0);
});

test("answers unavailable while the server is a standby, and recovers by itself once its name leads to a primary", async () => {
  const failures: unknown[] = [];
  const node = openNode({ statementTimeoutMs: patientMs, onFailure: (error) => failures.push(error) });
  const key = await addKey();
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  await database.setReadOnly(true);
  onTestFinished(() => database.setReadOnly(false));
  const admitOnStandby = async () => {
    expect(await node.admit(key.secret)).toMatchObject({ kind: "unavailable" });
    return failures.some(isReadOnlyServer);
  };
  await expect.poll(admitOnStandby).toBe(true);
  expect(await node.isAvailable()).toBe(false);
  await database.setReadOnly(false);
  await expect.poll(() => node.isAvailable()).toBe(true);
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  expect(await countUses(key)).toBe(2);
});

test("requests that wait behind a statement whose connection breaks are decided by facts of the next connection", async () => {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.open();
  const [locked, ...others] = [await addKey(), await addKey(), await addKey()] as const;
  let statements = 0;
  const node = openNode({
    connection: gate.connection,
    onStatement({ increments }) {
      statements += 1;
      // The two keys that aren't locked are counted.
      if (increments === 2) gate.hold();
    },
  });
  for (const { secret } of [locked, ...others]) await node.admit(secret);
  const release = await hold(locked);
  const earlier = node.admit(locked.secret);
  // The key is counted separately once its row was found locked.
  const before = statements;
  await expect.poll(() => statements).toBeGreaterThan(before + 3);
  const [waiting, ...broken] = [locked, ...others].map(({ secret }) => node.admit(secret));
  expect(await Promise.all(broken)).toMatchObject([{ kind: "unavailable" }, { kind: "unavailable" }]);
  // The version stays the same, as if it had been reused after the database lost its latest changes.
  await sql`update api_keys set disabled_at = now() where id = ${locked.id}`.execute(database.owner);
  await release();
  gate.open();
  expect(await waiting).toMatchObject({ kind: "rejected", reason: "disabled" });
  await earlier;
});

test("two batches whose connection breaks are both rejected as unavailable, and the next one reconnects", async () => {
  const key = await addKey();
  const { node, failures, sent } = await openRecordedNode([key], { statementTimeoutMs: patientMs });
  const speedUp = await slowDown(30);
  const verdicts: Promise<Verdict>[] = [];
  for (const statements of [1, 2]) {
    verdicts.push(node.admit(key.secret));
    await setImmediate();
    expect(sent()).toBe(statements);
  }
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'latchkey admission' and datname = current_database()`.execute(database.owner);
  expect((await Promise.all(verdicts)).map(({ kind }) => kind)).toEqual(["unavailable", "unavailable"]);
  expect(failures).toHaveLength(2);
  expect(await countUses(key)).toBe(1);
  await speedUp();
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
});

test("concurrent calls share the connection that is being opened", async () => {
  const connection = new AdmissionConnection(database.connection, { applicationName: "latchkey admission" });
  onTestFinished(() => connection.close());
  const take = (): Promise<pg.Client> => connection.use((client) => Promise.resolve(client));
  const [one, other] = await Promise.all([take(), take()]);
  expect(one).toBe(other);
  // No response is pending, so the connection doesn't count as unresponsive.
  connection.dropIfSilentFor(-1);
  expect(await take()).toBe(one);
  expect(await countConnections()).toBe(1);
});

test("a node that can remember only a few keys still allows all of them", async () => {
  const [node, watch] = openWatchedNode({ maxCachedFacts: 3 });
  const userId = await addUser();
  const keys = await Promise.all(Array.from({ length: 10 }, () => addKey(userId)));
  for (let round = 0; round < 2; round += 1) {
    expect(admitted(await Promise.all(keys.map((key) => node.admit(key.secret))))).toBe(10);
  }
  // A remembered key takes one statement, any other key two. At most three of the ten can be remembered.
  const [, statements] = await watch(async () => {
    for (const key of keys) await node.admit(key.secret);
  });
  expect(statements).toBeGreaterThanOrEqual(3 + 7 * 2);
});

async function countConnections(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where application_name = 'latchkey admission' and datname = current_database()`.execute(database.db);
  return rows[0]?.count ?? 0;
}

test("a node that is closed while it connects allows no request afterwards and leaves no connection", async () => {
  const key = await addKey();
  const node = new Admission({ connection: database.connection });
  const early = node.admit(key.secret);
  await node.close();
  expect(await early).toEqual({ kind: "unavailable", retryAfterSeconds: 1 });
  expect(await node.admit(key.secret)).toEqual({ kind: "unavailable", retryAfterSeconds: 1 });
  expect(await countUses(key)).toBe(0);
  await expect.poll(countConnections).toBe(0);
});

test("a node that is closed before a batch is sent does not send it", async () => {
  const key = await addKey();
  const { node, failures, sent } = await openRecordedNode([key], { statementTimeoutMs: patientMs });
  await slowDown(1);
  const inFlight = node.admit(key.secret);
  await setImmediate();
  const queued = node.admit(key.secret);
  await node.close();
  expect(await inFlight).toMatchObject({ kind: "admitted" });
  expect(await queued).toMatchObject({ kind: "unavailable" });
  expect(sent()).toBe(1);
  expect(failures).toEqual([]);
  expect(await countUses(key)).toBe(2);
});

test("a node that is closed gives correct answers to requests in flight", async () => {
  const key = await addKey();
  const node = new Admission({
    connection: database.connection,
    ...patientTimeouts,
    statementTimeoutMs: patientMs,
  });
  await node.admit(key.secret);
  // Each of the two batches in flight takes longer than the time that a connection gets to end.
  await slowDown(0.55);
  const verdicts: Promise<Verdict>[] = [];
  for (let batch = 0; batch < 2; batch += 1) {
    verdicts.push(...Array.from({ length: 50 }, () => node.admit(key.secret)));
    await setImmediate();
  }
  const late = node.admit(key.secret);
  await node.close();
  expect(admitted(await Promise.all(verdicts))).toBe(100);
  expect(await late).toMatchObject({ kind: "unavailable" });
  expect(await countUses(key)).toBe(101);
  await expect.poll(countConnections).toBe(0);
});

test("its connection has the settings that its statements need, whatever the settings of the database are", async () => {
  const { database: name } = database.connection;
  await sql`alter database ${sql.ref(name)} set synchronous_commit = off`.execute(database.owner);
  const timeouts = { ...admissionTimeouts, statementTimeoutMs: 1_300, idleTransactionTimeoutMs: 800 };
  const connection = new AdmissionConnection(database.connection, {
    applicationName: "latchkey admission",
    timeouts,
  });
  onTestFinished(() => connection.close());
  const client = await connection.use((live) => Promise.resolve(live));
  for (const setting of [
    "role=latchkey_admission",
    ...sessionSettings,
    "statement_timeout=1300",
    "idle_in_transaction_session_timeout=800",
  ]) {
    const [variable = "", value = ""] = setting.split("=");
    const { rows } = await client.query("select current_setting($1) in ($2, $2 || 'ms') as holds", [
      variable,
      value,
    ]);
    expect(rows, setting).toEqual([{ holds: true }]);
  }
  const { rows } = await client.query("select current_setting('fsync') as fsync");
  expect(rows).toEqual([{ fsync: "on" }]);
});

test("no statement has more than 1,024 requests", async () => {
  const sizes: number[] = [];
  const node = openNode({ onStatement: ({ lookups }) => sizes.push(lookups) });
  const verdicts = await Promise.all(Array.from({ length: 1_500 }, () => node.admit(createApiKey().secret)));
  expect(new Set(verdicts.map((verdict) => verdict.kind))).toEqual(new Set(["rejected"]));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_024);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_500);
});

test("a locked row does not slow down other keys on two nodes", async () => {
  const nodes = [openNode(), openNode()];
  const [held, hot] = [await addKey(), await addKey()];
  for (const node of nodes) await Promise.all([node.admit(held.secret), node.admit(hot.secret)]);
  const release = await hold(held);
  const delayed = nodes.map((node) => node.admit(held.secret));
  let slowestMs = 0;
  const stopMeasuring = measureSlowest(readNothing);
  const clients = nodes.flatMap((node) => Array.from({ length: 16 }, () => node));
  await Promise.all(
    clients.map(async (node) => {
      for (let count = 0; count < 30; count += 1) {
        const startedAt = performance.now();
        expect(await node.admit(hot.secret)).toMatchObject({ kind: "admitted" });
        slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      }
    }),
  );
  expect(slowestMs).toBeLessThan(1_000 + (await stopMeasuring()));
  await release();
  expect(admitted(await Promise.all(delayed))).toBe(2);
  expect(await countUses(hot)).toBe(2 + clients.length * 30);
});
