import { startupOptions } from "@latchkey/db/connection";
import type { KeyId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { sessionSettings } from "../admission/session-settings.ts";
import { lockCounters } from "./statements.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function connect(options = ""): Promise<pg.Client> {
  const client = new pg.Client({ ...testClientConfig(database.connection, "test"), options });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Two counters, of which another transaction has locked one, and a node that locks both and waits. */
async function waitForCounter(held: "first" | "second") {
  const settings = sessionSettings.filter((setting) => !setting.startsWith("lock_timeout"));
  const [blocker, node, observer] = [
    await connect(),
    await connect(startupOptions("latchkey_admission", settings)),
    await connect(),
  ];
  const prefix = held === "first" ? "1" : "2";
  const ids = ["1", "2"].map((digit) => `${prefix}0000000-0000-7000-8000-00000000000${digit}` as KeyId);
  const [first = "" as KeyId, second = "" as KeyId] = ids;
  await blocker.query("insert into key_counters (key_id) values ($1), ($2)", ids);
  await blocker.query("begin");
  await blocker.query("select from key_counters where key_id = $1 for update", [
    held === "first" ? first : second,
  ]);
  await node.query("begin");
  const locked = lockCounters(node, [second, first], { owners: [], skipsLocked: false });
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  return { first, second, locked, observer, release: () => blocker.query("commit") };
}

test("counters are locked in the order of their IDs", async () => {
  const { first, second, locked, observer, release } = await waitForCounter("first");
  // The node waits for the first counter, so it has not locked the second one.
  await observer.query("select from key_counters where key_id = $1 for update nowait", [second]);
  await release();
  expect([...(await locked).counters.keys()]).toEqual([first, second]);
});

test("the time is read after the last counter was locked", async () => {
  const { locked, observer, release } = await waitForCounter("second");
  const { rows } = await observer.query<{ now: number }>(
    "select extract(epoch from clock_timestamp())::float8 * 1000 as now",
  );
  await release();
  expect((await locked).now).toBeGreaterThanOrEqual(rows[0]?.now ?? Number.POSITIVE_INFINITY);
});
