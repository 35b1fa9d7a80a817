import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { KeyspaceId } from "./ids.ts";
import { addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

// A trigger lists the permissions of issued keys in rows of their own. The lists of keys read them.

let database: TestDatabase;
let scope: WorkspaceScope;
let keyspaceId: KeyspaceId;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await addWorkspace(database.db);
});
afterAll(() => database.drop());

/** Adds a keyspace with keys that are named by their number, and each have the permissions `read` and `own.<number modulo 10>`. */
async function addKeys(count: number): Promise<void> {
  keyspaceId = await addKeyspace(database.db, scope);
  await inWorkspace(database.db, scope, (trx) =>
    sql`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start, name, permissions)
      select ${scope.workspaceId}, ${keyspaceId}, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'sk_',
        number::text, array['read', 'own.' || number % 10]
      from generate_series(1, ${count}::integer) number`.execute(trx),
  );
}

/** Returns the names of the keys that are listed for each permission. */
async function readListed(): Promise<unknown> {
  const { rows } = await sql<{ permission: string; names: string[] }>`
    select permission, array_agg(name order by name) as names
    from issued_key_permissions listed join issued_keys key
      on key.id = key_id and key.keyspace_id = listed.keyspace_id and key.created_at = listed.created_at
    where listed.keyspace_id = ${keyspaceId} group by permission`.execute(database.owner);
  return Object.fromEntries(rows.map(({ permission, names }) => [permission, names]));
}

test("a statement that changes several keys differently lists the permissions of each", async () => {
  await addKeys(4);
  await inWorkspace(database.db, scope, (trx) =>
    sql`
      update issued_keys set permissions = case name
        when '1' then array['read', 'write'] when '2' then '{}' when '3' then array['own.1', 'read', 'read', 'own.3']
        else permissions end
      where keyspace_id = ${keyspaceId}`.execute(trx),
  );
  expect(await readListed()).toEqual({
    read: ["1", "3", "4"],
    write: ["1"],
    "own.1": ["3"],
    "own.3": ["3"],
    "own.4": ["4"],
  });
});

/** Returns how many times longer the trigger takes than the update itself, which a busy machine delays as much. */
async function measureTrigger(trx: WorkspaceTrx, change: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ "QUERY PLAN": string }>`
    explain (analyze, buffers off) update issued_keys set ${change} where keyspace_id = ${keyspaceId}`.execute(
    trx,
  );
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  const triggerMs = Number(/Trigger list_permissions_of_changed_keys: time=([\d.]+)/.exec(plan)?.[1]);
  const updateMs = Number(/^Update on issued_keys .*actual time=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1]);
  return triggerMs / updateMs;
}

/** How a connection begins. Postgres keeps the plans of its first change, which are made for the number of changed keys. */
const beginnings = {
  "a change of all keys": sql`true`,
  "a change of one key": sql`name = '1'`,
};

// 4,000 keys are four times the most that a request changes. A comparison of each key with each takes five times as long as the update.
test.each(
  (
    [
      ["other settings", sql`disabled_at = clock_timestamp()`],
      ["permissions", sql`permissions = array[clock_timestamp()::text]`],
    ] as const
  ).flatMap(([what, change]) =>
    Object.entries(beginnings).map(([beginning, first]) => ({ what, beginning, change, first })),
  ),
)(
  "a change of $what takes time proportional to the number of keys, after $beginning",
  async ({ beginning, change, first }) => {
    await addKeys(4_000);
    const ratios = await inWorkspace(database.db, scope, async (trx) => {
      await sql`discard plans`.execute(trx);
      await sql`
        update issued_keys set ${change} where keyspace_id = ${keyspaceId} and ${first}`.execute(trx);
      return [
        await measureTrigger(trx, change),
        await measureTrigger(trx, change),
        await measureTrigger(trx, change),
      ];
    });
    console.info(
      `after ${beginning}: trigger / update ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}`,
    );
    expect(Math.min(...ratios)).toBeLessThan(1);
  },
);
