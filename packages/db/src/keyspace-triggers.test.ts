import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
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

test.each([
  ["daily", null, "2027-03-01T00:00:00Z", "2027-03-01T00:00:00Z"],
  ["daily", null, "2027-03-01T23:59:59.999Z", "2027-03-01T00:00:00Z"],
  ["monthly", 1, "2027-03-01T00:00:00Z", "2027-03-01T00:00:00Z"],
  ["monthly", 15, "2027-03-14T23:59:59Z", "2027-02-15T00:00:00Z"],
  ["monthly", 15, "2027-03-15T00:00:00Z", "2027-03-15T00:00:00Z"],
  ["monthly", 31, "2027-03-01T00:00:00Z", "2027-02-28T00:00:00Z"],
  ["monthly", 31, "2028-02-29T12:00:00Z", "2028-02-29T00:00:00Z"],
  ["monthly", 31, "2028-02-28T12:00:00Z", "2028-01-31T00:00:00Z"],
  ["monthly", 30, "2027-01-15T00:00:00Z", "2026-12-30T00:00:00Z"],
  ["monthly", 31, "2027-04-30T00:00:00Z", "2027-04-30T00:00:00Z"],
])("the latest %s refill on day %s until %s was at %s", async (interval, day, until, expected) => {
  const refill = JSON.stringify({ amount: 100, interval, day });
  const { rows } = await database.db.transaction().execute(async (trx) => {
    await sql`set local timezone = 'Pacific/Auckland'`.execute(trx);
    return await sql<{ at: Date }>`select latest_refill(${refill}, ${until}) as at`.execute(trx);
  });
  expect(rows[0]?.at).toEqual(new Date(expected));
});

test("without a refill, there was none", async () => {
  const { rows } = await sql`select latest_refill(null, now()) as at`.execute(database.db);
  expect(rows).toEqual([{ at: null }]);
});
