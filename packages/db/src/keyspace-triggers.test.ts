import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { refillCases } from "./testing/refill-cases.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { deleteWorkspace, insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await addWorkspace();
});
afterAll(() => database.drop());

async function addWorkspace(): Promise<WorkspaceScope> {
  return await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const ownerId = (await insertUserWithPassword(trx, user)) as never; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Workspace", slug: randomUUID(), ownerId });
    return made?.scope as WorkspaceScope; // No workspace has this slug.
  });
}

async function addKeyspace(owner: WorkspaceScope): Promise<string> {
  const id = randomUUID();
  await inWorkspace(database.db, owner, (trx) =>
    sql`
      insert into keyspaces (workspace_id, id, name, prefix)
      values (${owner.workspaceId}, ${id}, 'Production', 'sk_live')`.execute(trx),
  );
  return id;
}

/** Adds keys with their counters, as of the consumers in `consumers`. */
async function addKeys(keyspaceId: string, count: number): Promise<string[]> {
  return await inWorkspace(database.db, scope, async (trx) => {
    const { rows } = await sql<{ id: string }>`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select ${scope.workspaceId}, ${keyspaceId}, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'sk_'
      from generate_series(1, ${count}::integer) returning id`.execute(trx);
    const ids = rows.map(({ id }) => id);
    await sql`insert into key_counters (key_id) select unnest(${ids}::uuid[])`.execute(trx);
    return ids;
  });
}

async function readCount(keyspaceId: string): Promise<unknown> {
  const { rows } = await sql<{ key_count: number }>`
    select key_count from issued_key_counts where keyspace_id = ${keyspaceId}`.execute(database.owner);
  return rows[0]?.key_count;
}

async function describeDeletion(keyspaceId: string): Promise<unknown> {
  const { rows } = await sql`
    select workspace_id as "workspaceId", version from deleted_keyspaces join owner_versions on owner_id = id
    where id = ${keyspaceId}`.execute(database.owner);
  return rows[0];
}

test("the stored keys of each keyspace are counted, and their counters are deleted with them", async () => {
  const [first, second] = [await addKeyspace(scope), await addKeyspace(scope)];
  const ids = await addKeys(first, 3);
  await addKeys(second, 2);
  expect([await readCount(first), await readCount(second)]).toEqual([3, 2]);
  await inWorkspace(database.db, scope, (trx) =>
    sql`delete from issued_keys where id = any(${ids.slice(1)}::uuid[])`.execute(trx),
  );
  expect([await readCount(first), await readCount(second)]).toEqual([1, 2]);
  const { rows } =
    await sql`select key_id as id from key_counters where key_id = any(${ids}::uuid[])`.execute(
      database.owner,
    );
  expect(rows).toEqual([{ id: ids[0] }]);
});

test("keys that are added concurrently are all counted", async () => {
  const id = await addKeyspace(scope);
  await Promise.all(Array.from({ length: 20 }, () => addKeys(id, 2)));
  expect(await readCount(id)).toBe(40);
});

test("the counter of a consumer is deleted with it", async () => {
  const [keyspaceId, id] = [await addKeyspace(scope), randomUUID()];
  await inWorkspace(database.db, scope, async (trx) => {
    await sql`
      insert into consumers (workspace_id, keyspace_id, id, external_id)
      values (${scope.workspaceId}, ${keyspaceId}, ${id}, 'customer')`.execute(trx);
    await sql`insert into key_counters (key_id) values (${id})`.execute(trx);
    await sql`delete from consumers where id = ${id}`.execute(trx);
  });
  const { rows } = await sql`select from key_counters where key_id = ${id}`.execute(database.owner);
  expect(rows).toEqual([]);
});

test("deleting a keyspace records it and increments its version as an owner", async () => {
  const id = await addKeyspace(scope);
  await sql`insert into owner_versions (owner_id, version) values (${id}, 4)`.execute(database.owner);
  await inWorkspace(database.db, scope, (trx) => sql`delete from keyspaces where id = ${id}`.execute(trx));
  expect(await describeDeletion(id)).toEqual({ workspaceId: scope.workspaceId, version: 5 });
});

test("deleting a workspace does the same for each of its keyspaces", async () => {
  const deleted = await addWorkspace();
  const ids = [await addKeyspace(deleted), await addKeyspace(deleted)];
  await inWorkspace(database.db, deleted, (trx) => deleteWorkspace(trx, deleted, { memberIds: [] }));
  for (const id of ids)
    expect(await describeDeletion(id)).toEqual({ workspaceId: deleted.workspaceId, version: 1 });
});

test.each(["lk", "lk_live", "x", "a".repeat(17), "Live", "sk-live", ""])(
  "no keyspace has the prefix %j",
  async (prefix) => {
    const insert = sql`
      insert into keyspaces (workspace_id, id, name, prefix)
      values (${scope.workspaceId}, ${randomUUID()}, 'Production', ${prefix})`.execute(database.owner);
    await expect(insert).rejects.toThrow("keyspaces_prefix_check");
  },
);

test.each(["lka", "l_k", "sk_live", "__", "0".repeat(16)])(
  "a keyspace can have the prefix %j",
  async (prefix) => {
    const { numAffectedRows } = await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    values (${scope.workspaceId}, ${randomUUID()}, 'Production', ${prefix})`.execute(database.owner);
    expect(numAffectedRows).toBe(1n);
  },
);

test("two workspaces can store the same hash, and one workspace can't store it twice", async () => {
  const [other, hash] = [await addWorkspace(), randomBytes(32)];
  const add = (workspaceId: string) =>
    sql`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      values (${workspaceId}, ${randomUUID()}, ${randomUUID()}, ${hash}, 'sk_')`.execute(database.owner);
  await add(scope.workspaceId);
  await add(other.workspaceId);
  await expect(add(scope.workspaceId)).rejects.toThrow("issued_keys_hash");
});

test.each(refillCases)("the latest refill of %j until %s was at %s", async (refill, until, expected) => {
  const { rows } = await database.db.transaction().execute(async (trx) => {
    await sql`set local timezone = 'Pacific/Auckland'`.execute(trx);
    const stored = JSON.stringify({ amount: 100, ...refill });
    return await sql<{ at: Date }>`select latest_refill(${stored}, ${until}) as at`.execute(trx);
  });
  expect(rows[0]?.at).toEqual(new Date(expected));
});

test("without a refill, there was none", async () => {
  const { rows } = await sql`select latest_refill(null, now()) as at`.execute(database.db);
  expect(rows).toEqual([{ at: null }]);
});

test("the permissions of stored keys are listed, and follow each change", async () => {
  const keyspaceId = await addKeyspace(scope);
  const [first, second] = await addKeys(keyspaceId, 2);
  const list = async () => {
    const { rows } = await sql<{ id: string; permission: string }>`
      select key_id as id, permission from issued_key_permissions where keyspace_id = ${keyspaceId}
      order by key_id = ${first}, permission`.execute(database.owner);
    return rows.map(({ id, permission }) => [id === first ? "first" : "second", permission]);
  };
  const change = (statement: (ids: readonly (string | undefined)[]) => ReturnType<typeof sql>) =>
    inWorkspace(database.db, scope, (trx) => statement([first, second]).execute(trx));
  expect(await list()).toEqual([]);
  await change((ids) => sql`update issued_keys set permissions = '{b,a,a}' where id = any(${ids}::uuid[])`);
  expect(await list()).toEqual([
    ["second", "a"],
    ["second", "b"],
    ["first", "a"],
    ["first", "b"],
  ]);
  await change((ids) => sql`update issued_keys set name = 'x' where id = any(${ids}::uuid[])`);
  await change(([id]) => sql`update issued_keys set permissions = '{b,c}' where id = ${id}`);
  expect(await list()).toEqual([
    ["second", "a"],
    ["second", "b"],
    ["first", "b"],
    ["first", "c"],
  ]);
  await change((ids) => sql`delete from issued_keys where id = ${ids[1]}`);
  expect(await list()).toEqual([
    ["first", "b"],
    ["first", "c"],
  ]);
});

test("a change of permissions writes only the rows that differ", async () => {
  const keyspaceId = await addKeyspace(scope);
  const [first, second] = await addKeys(keyspaceId, 2);
  const countWritten = (changes: Readonly<Record<string, string>>) =>
    inWorkspace(database.db, scope, async (trx) => {
      const count = async () => {
        const { rows } = await sql<{ inserted: number; deleted: number }>`
          select n_tup_ins::integer as inserted, n_tup_del::integer as deleted from pg_stat_xact_user_tables
          where relname = 'issued_key_permissions'`.execute(trx);
        return rows[0] ?? { inserted: 0, deleted: 0 };
      };
      // The connection's earlier transactions can be included.
      const before = await count();
      await sql`
        update issued_keys set permissions = (${JSON.stringify(changes)}::jsonb ->> id::text)::text[]
        where keyspace_id = ${keyspaceId}`.execute(trx);
      const after = await count();
      return [after.inserted - before.inserted, after.deleted - before.deleted];
    });
  const [one, other] = [String(first), String(second)];
  expect(await countWritten({ [one]: "{a,b,c}", [other]: "{a,b}" })).toEqual([5, 0]);
  // The other key is changed by the same statement, but its permissions stay the same.
  expect(await countWritten({ [one]: "{b,c,d,d}", [other]: "{b,a}" })).toEqual([1, 1]);
  expect(await countWritten({ [one]: "{d,c,b}", [other]: "{a,b}" })).toEqual([0, 0]);
  expect(await countWritten({ [one]: "{}", [other]: "{a,b}" })).toEqual([0, 3]);
});
