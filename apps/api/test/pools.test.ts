import { isReadOnlyServer } from "@latchkey/db/sqlstate";
import { catchCancellation } from "@latchkey/db/testing/catch-cancellation";
import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { defaultDeadlines } from "../src/deadlines.ts";
import { openInspection, openPools } from "../src/pools.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

test("pools open exactly the configured number of connections", async () => {
  const pools = openPools(database.connection, "sized", {
    changeConnections: 2,
    readConnections: 3,
    deadlines: defaultDeadlines,
  });
  const run = (db: typeof pools.db) =>
    Array.from({ length: 12 }, () => sql`select pg_sleep(0.1)`.execute(db));
  const work = Promise.all([...run(pools.db), ...run(pools.readDb)]);
  const count = async () => {
    const { rows } = await sql<{ name: string; count: number }>`
      select application_name as name, count(*) from pg_stat_activity
      where application_name like 'sized%' group by 1 order by 1`.execute(database.owner);
    return rows;
  };
  const expectedCounts = [
    { name: "sized", count: 2 },
    { name: "sized reads", count: 3 },
  ];
  await expect.poll(count, { interval: 20 }).toEqual(expectedCounts);
  await work;
  expect(await count()).toEqual(expectedCounts);
  expect(pools).toMatchObject({ changeConnections: 2, readConnections: 3 });
  await pools.db.destroy();
  await pools.readDb.destroy();
});

test.each([
  [
    "the connection of operators",
    () => ({
      db: openInspection(database.connection, "inspected", defaultDeadlines),
      others: [],
      role: "latchkey_admission",
    }),
  ],
  [
    "a connection for reads",
    () => {
      const settings = { changeConnections: 1, readConnections: 1, deadlines: defaultDeadlines };
      const { db, readDb } = openPools(database.connection, "reading", settings);
      return { db: readDb, others: [db], role: "latchkey_tenant" };
    },
  ],
])("%s cancels a statement after a second, and changes nothing", async (_name, openPool) => {
  const { db, others, role } = openPool();
  const error = await catchCancellation(database.owner, () => sql`select pg_sleep(4)`.execute(db));
  expect(error).toMatchObject({ code: "57014" });
  const { rows } = await sql<{ readOnly: string }>`
    select current_setting('transaction_read_only') as "readOnly", current_user as role`.execute(db);
  expect(rows).toEqual([{ readOnly: "on", role }]);
  for (const pool of [db, ...others]) await pool.destroy();
});

test("every pool rejects a standby, and connects once the server's name leads to a primary", async () => {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.open();
  gate.leadTo(database.connection, { claimsStandby: true });
  const settings = { changeConnections: 1, readConnections: 1, deadlines: defaultDeadlines };
  const { db, readDb } = openPools(gate.connection, "failing over", settings);
  const pools = { db, readDb, inspection: openInspection(gate.connection, "failing over", defaultDeadlines) };
  onTestFinished(async () => {
    for (const pool of Object.values(pools)) await pool.destroy();
  });
  const listUnusable = async () => {
    const unusable: string[] = [];
    for (const [name, pool] of Object.entries(pools)) {
      const error = await sql`select`.execute(pool).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (isReadOnlyServer(error)) unusable.push(name);
      else if (error) throw error;
    }
    return unusable;
  };
  await expect.poll(listUnusable).toEqual(Object.keys(pools));
  gate.leadTo(database.connection);
  await expect.poll(listUnusable).toEqual([]);
});
