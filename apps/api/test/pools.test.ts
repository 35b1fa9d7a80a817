import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
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
  await expect(sql`select pg_sleep(4)`.execute(db)).rejects.toMatchObject({ code: "57014" });
  const { rows } = await sql<{ readOnly: string }>`
    select current_setting('transaction_read_only') as "readOnly", current_user as role`.execute(db);
  expect(rows).toEqual([{ readOnly: "on", role }]);
  for (const pool of [db, ...others]) await pool.destroy();
});
