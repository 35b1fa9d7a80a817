import { migrate } from "@latchkey/db/migrate";
import { migrations } from "@latchkey/db/migrations";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, deleteKey, findSignedIn } from "../support/account.ts";
import { type Connection, holdLocks, readUses, toUuid } from "../support/inspection.ts";
import { createKeyspace, issueKey, type Keyspace, readCounter } from "../support/keyspace.ts";
import { startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import {
  countAnswered,
  countStatuses,
  expectWithinDeadline,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilAnswered } from "../support/until-answered.ts";

// Two nodes serve requests while a process of a newer version migrates the schema. They continue on the newer schema.

type Migrations = NonNullable<NonNullable<Parameters<typeof migrate>[1]>["known"]>;

let nodes: TwoNodes;
let database: Connection;
let keyspace: Keyspace;

beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
  database = await connectionTo(nodes.instance.cluster);
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});

afterAll(async () => {
  await nodes?.close();
});

const tablesOfRequests = [
  "key_counters",
  "api_keys",
  "users",
  "sessions",
  "keyspaces",
  "issued_keys",
  "owner_versions",
];

/** What later versions may do: add to every table that a request uses. */
function laterMigrations(count: number): Migrations {
  const added = Array.from({ length: count }, (_, index) => {
    const column = `added_${index + 1}`;
    const up: Migrations[string]["up"] = async ({ schema }) => {
      for (const table of tablesOfRequests) {
        await schema.alterTable(table).addColumn(column, "text").execute();
      }
      await schema.createIndex(`api_keys_${column}`).on("api_keys").column(column).execute();
    };
    return [`900${index + 1}-test`, { up }] as const;
  });
  return { ...migrations, ...Object.fromEntries(added) };
}

/** Sends load to both nodes while the task runs, and expects that every request was admitted, or verified a key, and was counted. */
async function expectUnharmed(what: string, task: (keyId: string) => Promise<unknown>): Promise<void> {
  const { left, right, account } = nodes;
  const { id, key } = await createKey(left.baseUrl, account, what);
  const stopMeasuring = await measureStall(left.baseUrl);
  const balance = 1_000_000;
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const baseUrls = [left.baseUrl, right.baseUrl];
  const load = startLoad({ baseUrls, key, connections: 32 });
  const verifying = startLoad({
    baseUrls,
    key: keyspace.callerKey,
    connections: 16,
    path: "/open/keys/verify",
    body: { key: issued.key },
  });
  await Promise.all([load.reached(500), verifying.reached(250)]);
  const startedAt = performance.now();
  await task(id).catch(async (error) => {
    await Promise.all([load.stop(), verifying.stop()]);
    throw error;
  });
  const tookMs = performance.now() - startedAt;
  await Promise.all([
    load.reached(load.outcomes.length + 500),
    verifying.reached(verifying.outcomes.length + 250),
  ]);
  const [outcomes, verifications] = await Promise.all([load.stop(), verifying.stop()]);
  const answered = countAnswered(outcomes);
  const counted = await readUses(database, id);
  verifyCounts(
    what,
    { answered, counted, received: load.sent() },
    `it took ${Math.round(tookMs)} ms, the slowest answer ${Math.round(slowestMs(outcomes))} ms`,
  );
  const stallMs = await stopMeasuring();
  if (stallMs < busyMs) expect(countStatuses(outcomes)).toEqual({ 200: outcomes.length });
  if (answered === outcomes.length) expect(counted).toBe(answered);
  const { uses, credits } = await readCounter(database, issued);
  const valid = verifications.filter(({ code }) => code === "VALID").length;
  verifyCounts(`verifications, ${what}`, { answered: valid, counted: uses, received: verifying.sent() });
  expect(uses).toBe(balance - credits);
  if (stallMs < busyMs) expect(valid).toBe(verifications.length);
  if (valid === verifications.length) expect(uses).toBe(valid);
  expectWithinDeadline([...outcomes, ...verifications], stallMs);
}

test("a migration of all tables that requests use fails no request", async () => {
  await expectUnharmed("a migration under load", async () => {
    expect(await migrate(database, { known: laterMigrations(1) })).toEqual(["9001-test"]);
  });
});

test("a migration that waits for a long transaction releases its locks repeatedly, and fails no request", async () => {
  const { id: other } = await createKey(nodes.left.baseUrl, nodes.account, "locked");
  await expectUnharmed("a migration that waits for a lock", async () => {
    const lock = await holdLocks(database, "select from key_counters where key_id = $1 for update", [
      toUuid(other),
    ]);
    const migrated = migrate(database, { known: laterMigrations(2) });
    migrated.catch(() => undefined);
    // Longer than callers wait for a response.
    const state = await Promise.race([
      migrated,
      new Promise((resolve) => setTimeout(resolve, 3_000, "locked")),
    ]);
    await lock.release();
    expect(state).toBe("locked");
    expect(await migrated).toEqual(["9002-test"]);
  });
});

/** Returns the status of a request with the key. */
async function use({ baseUrl }: Pick<ProductNode, "baseUrl">, key: string): Promise<number> {
  return (await untilAnswered(() => callOpen(baseUrl, key))).status;
}

test("nodes of the previous version keep serving on the newer schema", async () => {
  const { left, right, account } = nodes;
  for (const { baseUrl } of [left, right]) {
    expect(await findSignedIn(baseUrl, account)).toBe(account.email);
    const { id, key } = await createKey(baseUrl, account, "after");
    for (const other of [left, right]) expect(await use(other, key)).toBe(200);
    await deleteKey(baseUrl, account, id);
    for (const other of [left, right]) expect(await use(other, key)).toBe(403);
  }
});

test("a node of the previous version starts on the newer schema, and logs that it is newer", async () => {
  const { instance, account } = nodes;
  const node = await instance.start();
  expect(node.output()).toMatch(/"level":40.*9001-test, 9002-test/);
  const { key } = await createKey(node.baseUrl, account, "restarted");
  expect(await use(node, key)).toBe(200);
  expect(await node.stop()).toBe(0);
});

test("a node that is too old for the schema does not start, and running nodes continue", async () => {
  const { left, instance, account } = nodes;
  const removal = { "9003-test": { up: async () => undefined, compatibleFrom: "9001-test" } };
  await migrate(database, { known: { ...laterMigrations(2), ...removal } });
  const ending = await instance.run();
  expect(ending.status).toBe(1);
  expect(ending.stderr).toMatch(
    /^Latchkey cannot start\. The database needs a newer version of Latchkey: it has the migration "9003-test", on whose schema only versions with the migration "9001-test" can run, .*\.\n$/,
  );
  const { key } = await createKey(left.baseUrl, account, "beside");
  expect(await use(left, key)).toBe(200);
});
