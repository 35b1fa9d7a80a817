import { clientConfig } from "@latchkey/db/connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { sessionSettings, statementText } from "./statement.ts";

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  client = new pg.Client({
    ...clientConfig(database.connection, "test"),
    options: sessionSettings.map((setting) => `-c ${setting}`).join(" "),
  });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function explain(mode: "wait" | "skip"): Promise<string> {
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (generic_plan) ${statementText(mode)}`,
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

function expectIndexes(plan: string): void {
  expect(plan).toContain("Index Scan using key_counters_pkey on key_counters counter");
  expect(plan).toMatch(/Index Scan (using|on) api_keys_hash_key/);
  expect(plan).toContain("Index Scan using api_keys_pkey on api_keys key");
  expect(plan).toContain("Index Scan using users_pkey on users account");
  expect(plan).not.toContain("Seq Scan");
}

test("its plan uses the indexes meant for it, while the tables are empty as when they are large", async () => {
  for (const mode of ["wait", "skip"] as const) expectIndexes(await explain(mode));
  await client.query(`
    insert into users (id, email, name) values ('00000000-0000-7000-8000-000000000000', 'ada@example.com', 'Ada')`);
  await client.query(`
    insert into api_keys (id, user_id, name, start, hash)
    select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '00000000-0000-7000-8000-000000000000',
      'key', 'lk_000000', sha256(n::text::bytea)
    from generate_series(1, 20000) n`);
  await client.query("insert into key_counters (key_id) select id from api_keys");
  await client.query("analyze");
  for (const mode of ["wait", "skip"] as const) expectIndexes(await explain(mode));
});

test("it locks rows in the order of their keys before it changes the first", async () => {
  const plan = await explain("wait");
  const locked = plan.slice(plan.indexOf("CTE locked"), plan.indexOf("CTE counted"));
  expect(locked).toMatch(/LockRows[\s\S]*Sort[\s\S]*Sort Key: counter(_\d)?\.key_id/);
});

test("a use leaves no trace in any index: the row is changed in place", async () => {
  await client.query("insert into key_counters (key_id) values ('00000000-0000-7000-8000-ffffffffffff')");
  const id = ["00000000-0000-7000-8000-ffffffffffff"];
  await client.query("begin");
  const count = async (): Promise<{ updated: number; hot: number }> => {
    const { rows } = await client.query(`
      select pg_stat_get_xact_tuples_updated('key_counters'::regclass)::integer as updated,
        pg_stat_get_xact_tuples_hot_updated('key_counters'::regclass)::integer as hot`);
    return rows[0];
  };
  for (let use = 0; use < 5; use += 1) await client.query(statementText("wait"), [id, [1], [1], []]);
  expect(await count()).toEqual({ updated: 5, hot: 5 });
  await client.query("rollback");
});
