import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { startupOptions } from "./connection.ts";
import type { ClusterConnection } from "./embedded/cluster-connection.ts";
import {
  type BareDatabase,
  copyTemplate,
  createEmptyDatabase,
  createOwner,
  createTemplate,
  giveDatabase,
  type Owner,
} from "./migrate.test-kit.ts";
import { migrate } from "./migrate.ts";
import type { Db } from "./schema.ts";
import { requireTenantIsolation } from "./tenant-isolation.ts";

// The conditions of a dump: an owner of the database who is not a superuser, an empty search_path, and row-level
// security.

const tables = ["workspaces", "members", "audit_events", "invitations", "key_usage_hours"];
const schema = "Keys of 2026";

/** A template with Latchkey's tables, and its owner. */
let template: string;
let templateOwner: Owner;
beforeAll(async () => {
  template = await createTemplate(async (database) => {
    templateOwner = await createOwner(database.db, "with inherit false");
    await prepare(database, templateOwner);
  });
});

interface OwnedDatabase {
  readonly owner: ClusterConnection;
  readonly superuser: Db;
}

/** Gives a database to an ordinary owner. Creates Latchkey's tables in a schema other than `public`, unless it is a copy of the template. */
async function prepare(database: BareDatabase, role: Owner): Promise<OwnedDatabase> {
  const owner = await giveDatabase(database, role);
  const { db } = database;
  await sql`create schema if not exists ${sql.id(schema)} authorization ${sql.id(owner.user)}`.execute(db);
  await sql`alter database ${sql.id(owner.database)} set search_path = ${sql.id(schema)}`.execute(db);
  await migrate(owner);
  return { owner, superuser: db };
}

async function createOwnedDatabase(): Promise<OwnedDatabase> {
  return await prepare(await copyTemplate(template), templateOwner);
}

/** Adds one row to each table under row-level security. @returns the ID of the user that owns them all. */
async function addTenant(db: Db): Promise<string> {
  const [user, workspace, key] = [randomUUID(), randomUUID(), randomUUID()];
  const hash = Buffer.alloc(32);
  await db.transaction().execute(async (trx) => {
    await sql`set local search_path = ${sql.id(schema)}`.execute(trx);
    await sql`insert into users (id, email, name) values (${user}, 'ada@example.com', 'Ada')`.execute(trx);
    await sql`insert into workspaces (id, name, slug) values (${workspace}, 'Payments', 'payments')`.execute(
      trx,
    );
    await sql`insert into members (workspace_id, user_id, role) values (${workspace}, ${user}, 'owner')`.execute(
      trx,
    );
    await sql`
      insert into audit_events (workspace_id, id, action, actor_kind, target_kind, target_id)
      values (${workspace}, ${user}, 'workspace.created', 'command', 'workspace', ${workspace})`.execute(trx);
    await sql`
      insert into invitations (workspace_id, id, email, role, is_emailed, expires_at)
      values (${workspace}, ${user}, 'grace@example.com', 'member', false, now())`.execute(trx);
    await sql`
      insert into api_keys (id, user_id, name, start, hash) values (${key}, ${user}, 'CI', 'lk_', ${hash})`.execute(
      trx,
    );
    await sql`
      insert into key_usage_hours (key_id, hour, outcome, count) values (${key}, now(), 'admitted', 3)`.execute(
      trx,
    );
  });
  return user;
}

/** Counts the rows of a table on a separate connection with an empty search_path. */
async function countRows(
  table: string,
  connection: ClusterConnection,
  settings: Readonly<Record<string, string>>,
): Promise<number> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query("set search_path = ''");
    for (const [name, value] of Object.entries(settings))
      await client.query("select set_config($1, $2, false)", [name, value]);
    return (await client.query(`select from "${schema}".${table}`)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

const rejection = {
  code: "42501",
  message: "row-level security hides the rows of tenants from the owner of the database",
};

test("the owner can read the rows of all tenants in a backup session, and gets an error in any other session", async () => {
  const { owner, superuser } = await createOwnedDatabase();
  await addTenant(superuser);
  for (const table of tables) {
    expect(await countRows(table, owner, { "latchkey.backup": "on" }), table).toBe(1);
    for (const settings of [{}, { "latchkey.backup": "off" }])
      await expect(countRows(table, owner, settings), table).rejects.toMatchObject(rejection);
  }
});

test("an owner that inherits from the product's roles sees all rows or gets an error, but never only some rows", async () => {
  const database = await createEmptyDatabase();
  const role = await createOwner(database.db, "with inherit true");
  const { owner, superuser } = await prepare(database, role);
  const user = await addTenant(superuser);
  for (const table of tables)
    expect(await countRows(table, owner, { "latchkey.backup": "on" }), table).toBe(1);
  // Admission's policies show all rows of these tables. The other tables show the rows that the session names, and then
  // fail.
  for (const table of ["workspaces", "members", "audit_events", "key_usage_hours"])
    expect(await countRows(table, owner, {}), table).toBe(1);
  await expect(countRows("invitations", owner, {})).rejects.toMatchObject(rejection);
  await superuser.transaction().execute(async (trx) => {
    await sql`set local search_path = ${sql.id(schema)}`.execute(trx);
    await sql`insert into workspaces (id, name, slug) values (gen_random_uuid(), 'Of nobody', 'nobody')`.execute(
      trx,
    );
  });
  expect(await countRows("workspaces", owner, { "latchkey.user_id": user })).toBe(2);
});

test("the product's roles see no more in a backup session than in any other", async () => {
  const { owner, superuser } = await createOwnedDatabase();
  await addTenant(superuser);
  const tenant = { ...owner, options: startupOptions("latchkey_tenant") };
  for (const table of tables)
    expect(await countRows(table, tenant, { "latchkey.backup": "on" }), table).toBe(0);
});

test("policies and the trigger work with an empty search_path, in a schema other than public", async () => {
  const { owner, superuser } = await createOwnedDatabase();
  const user = await addTenant(superuser);
  const tenant = { ...owner, options: startupOptions("latchkey_tenant") };
  for (const table of ["workspaces", "members", "key_usage_hours"])
    expect(await countRows(table, tenant, { "latchkey.user_id": user }), table).toBe(1);
  const client = new pg.Client(tenant);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("set search_path = ''");
  await client.query(
    `insert into "${schema}".users (id, email, name) values (gen_random_uuid(), 'grace@example.com', 'Grace')`,
  );
  const { rows } = await client.query(`select email, is_operator from "${schema}".users order by email`);
  expect(rows).toEqual([
    { email: "ada@example.com", is_operator: true },
    { email: "grace@example.com", is_operator: false },
  ]);
  await requireTenantIsolation(owner);
});
