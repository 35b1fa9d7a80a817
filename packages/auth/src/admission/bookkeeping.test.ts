import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, admitted, patientMs, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";
import { composeBatches } from "./batch.ts";
import type { Requirement } from "./decision.ts";
import { validFacts } from "./facts.test-kit.ts";
import { createPendingRequest } from "./pending-request.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addKey, addKnownKeys, hold } = admissionKit(() => database);

async function countUses(key: TestKey): Promise<number> {
  const { use_count } = await database.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", key.id)
    .executeTakeFirstOrThrow();
  return use_count;
}

/**
 * Makes each later statement of admission, numbered from 1, block until it is opened by its number. A statement that is
 * never opened is ended by admission's own timeouts.
 */
async function gateStatements(): Promise<{
  readonly open: (statement: number) => Promise<unknown>;
  readonly openAll: () => Promise<unknown>;
}> {
  const keeper = new pg.Client(testClientConfig(database.connection, "keeper"));
  await keeper.connect();
  onTestFinished(async () => {
    await keeper.end();
    await sql`drop function pass_gate cascade`.execute(database.owner);
    await sql`drop sequence gates`.execute(database.owner);
  });
  // One session-level lock per statement number. The trigger blocks until it can share the lock.
  await keeper.query("select pg_advisory_lock(statement) from generate_series(1, 20) statement");
  await sql`create sequence gates`.execute(database.owner);
  await sql`
    create function pass_gate() returns trigger language plpgsql security definer as $$
      declare gate bigint := nextval('public.gates');
      begin
        while not pg_try_advisory_xact_lock_shared(gate) loop perform pg_sleep(0.01); end loop;
        return null;
      end $$`.execute(database.owner);
  await sql`
    create trigger pass_gate before update on key_counters
    for each statement execute function pass_gate()`.execute(database.owner);
  return {
    open: (statement) => keeper.query("select pg_advisory_unlock($1::bigint)", [statement]),
    openAll: () => keeper.query("select pg_advisory_unlock_all()"),
  };
}

/** Returns how many requests of these users a node accepts into its queue, and how many it answers immediately. */
async function fillQueue(node: Admission, keys: readonly TestKey[]): Promise<[number, number]> {
  const verdicts = keys.map(({ secret }) => node.admit(secret));
  const kinds = (await Promise.all(verdicts)).map(({ kind }) => kind);
  return [
    kinds.filter((kind) => kind === "admitted").length,
    kinds.filter((kind) => kind === "unavailable").length,
  ];
}

const observersThatThrow = {
  onStatement: () => {
    throw new Error("a bug in an observer of statements");
  },
  onFailure: () => {
    throw new Error("a bug in an observer of failures");
  },
};

/** Collects Node's warnings until the test ends, so that they are not printed. */
function collectWarnings(): Error[] {
  const warnings: Error[] = [];
  const before = process.listeners("warning");
  const collect = (warning: Error): void => {
    warnings.push(warning);
  };
  process.removeAllListeners("warning").on("warning", collect);
  onTestFinished(() => {
    process.removeListener("warning", collect);
    for (const listener of before) process.on("warning", listener);
  });
  return warnings;
}

test("observers that throw change no verdict and no count", async () => {
  const warnings = collectWarnings();
  const node = openNode({ ...observersThatThrow, maxWaiting: 10 });
  const [known, other] = [await addKey(), await addKey()];
  for (const key of [known, other]) expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  const verdicts = await Promise.all([
    ...Array.from({ length: 3 }, () => node.admit(known.secret)),
    node.admit(other.secret),
    node.admit(createApiKey().secret),
  ]);
  expect(verdicts.map(({ kind }) => kind)).toEqual([...Array(4).fill("admitted"), "rejected"]);
  expect(await Promise.all([known, other].map(countUses))).toEqual([4, 2]);
  expect(await fillQueue(node, await addKnownKeys(node, 12))).toEqual([10, 2]);
  expect(new Set(warnings.map(({ message }) => message))).toEqual(
    new Set(["a bug in an observer of failures"]),
  );
});

test("a batch that fails while the failure observer throws is answered, and frees its places in the queue", async () => {
  const warnings = collectWarnings();
  const node = openNode({ onFailure: observersThatThrow.onFailure, maxWaiting: 10 });
  const keys = await addKnownKeys(node, 12);
  const gate = await gateStatements();
  const verdicts = keys.slice(0, 10).map(({ secret }) => node.admit(secret));
  await setImmediate();
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'latchkey admission' and datname = current_database()`.execute(database.owner);
  expect(new Set((await Promise.all(verdicts)).map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
  await gate.openAll();
  // The first statement after that may still use the connection that is ending.
  await expect.poll(() => node.isAvailable()).toBe(true);
  expect(await fillQueue(node, keys)).toEqual([10, 2]);
  expect(new Set(warnings.map(({ message }) => message))).toEqual(
    new Set(["a bug in an observer of failures"]),
  );
});

test("if a request makes its batch throw, all requests of the batch are answered and free their places in the queue", async () => {
  const failures: unknown[] = [];
  const node = openNode({ maxWaiting: 10, onFailure: (error) => failures.push(error) });
  const key = await addKey();
  await node.admit(key.secret);
  const bug = new Error("a bug in a requirement");
  const broken = {
    get workspaceId(): never {
      throw bug;
    },
    permission: "members:read",
  } as const satisfies Requirement;
  for (let round = 1; round <= 3; round += 1) {
    const verdicts = await Promise.all([
      ...Array.from({ length: 4 }, () => node.admit(key.secret)),
      // The node doesn't know this key, so it is looked up, and the requirement is read when the batch is composed.
      node.admit(createApiKey().secret, broken),
      node.admit(createApiKey().secret),
    ]);
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
    expect(failures).toEqual(Array(round).fill(bug));
  }
  expect(await fillQueue(node, await addKnownKeys(node, 12))).toEqual([10, 2]);
  expect(await countUses(key)).toBe(1);
});

test("requests that are answered before their statement fails free their places in the queue only once", async () => {
  const failed = Promise.withResolvers<void>();
  const node = openNode({ maxWaiting: 5, deadlineMs: 1_200, onFailure: () => failed.resolve() });
  const keys = await addKnownKeys(node, 12);
  const gate = await gateStatements();
  const late = await Promise.all(keys.slice(0, 5).map(({ secret }) => node.admit(secret)));
  expect(new Set(late.map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
  // The connection is now dropped, and the statement fails after its requests were answered.
  await failed.promise;
  await setImmediate();
  const verdicts = keys.map(({ secret }) => node.admit(secret));
  const away = await Promise.all(verdicts.slice(5));
  expect(new Set(away.map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
  const waiting = Promise.race(verdicts.slice(0, 5)).then(() => "answered");
  expect(await Promise.race([waiting, setImmediate("waiting")])).toBe("waiting");
  await gate.openAll();
  expect(admitted(await Promise.all(verdicts.slice(0, 5)))).toBe(5);
});

test("a request in the queue is answered at its deadline while a batch with a later deadline is in flight", async () => {
  // On a busy machine, the first request has half of the deadline left for its response.
  const deadlineMs = 6_000;
  const failures: unknown[] = [];
  const [first, second, third] = [await addKey(), await addKey(), await addKey()];
  const node = openNode({
    deadlineMs,
    statementTimeoutMs: patientMs,
    onFailure: (error) => failures.push(error),
  });
  for (const key of [first, second, third]) await node.admit(key.secret);
  const gate = await gateStatements();
  const ahead = node.admit(first.secret);
  await setImmediate();
  const behind = [node.admit(second.secret), node.admit(second.secret)];
  await setImmediate();
  // This batch is smaller than the one ahead, so it is sent only when that one has ended.
  const queued = node.admit(third.secret);
  await delay(deadlineMs / 2);
  // From now on, the second statement has a whole deadline.
  await gate.open(1);
  expect(await ahead).toMatchObject({ kind: "admitted" });
  expect(await queued).toMatchObject({ kind: "unavailable" });
  expect(failures).toEqual([]);
  await gate.openAll();
  await Promise.all(behind);
  await expect.poll(() => countUses(second)).toBe(3);
  expect(await countUses(third)).toBe(1);
});

test("requests that waited for a locked row free their places in the queue when they are answered", async () => {
  const node = openNode({ maxWaiting: 10 });
  const key = await addKey();
  await node.admit(key.secret);
  for (let round = 0; round < 3; round += 1) {
    const release = await hold(key);
    const delayed = Array.from({ length: 5 }, () => node.admit(key.secret));
    // A statement behind the one that met the locked row answers this.
    expect(await node.isAvailable()).toBe(true);
    await release();
    expect(admitted(await Promise.all(delayed))).toBe(5);
  }
  expect(await countUses(key)).toBe(16);
});

test("a request that was answered while the node had no connection is not counted after it reconnects", async () => {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.open();
  const node = openNode({ connection: gate.connection, deadlineMs: 1_000 });
  const key = await addKey();
  await node.admit(key.secret);
  gate.hold();
  await expect
    .poll(async () => ({ ...(await node.admit(key.secret)), connections: gate.arrivals() }))
    .toMatchObject({ kind: "unavailable", connections: 2 });
  gate.open();
  // The node answers immediately until it has connected again.
  await expect.poll(() => node.isAvailable()).toBe(true);
  expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  expect(await countUses(key)).toBe(2);
});

test("an answered request is neither counted nor looked up", () => {
  const open = createPendingRequest();
  const unknown = { digest: "unknown", facts: undefined };
  const answered = [
    createPendingRequest({ isAnswered: true }),
    createPendingRequest({ ...unknown, isAnswered: true }),
  ];
  expect(composeBatches([...answered, open, ...answered], new Set())).toEqual({
    known: new Map([[validFacts.keyId, { digest: open.digest, facts: validFacts, requests: [open] }]]),
    isolated: { usageGroups: new Map(), lookupGroups: new Map() },
    deferred: [],
  });
});
