import { type Kysely, sql } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase } from "../connection.ts";
import { requireRoles } from "../database-roles.ts";
import { migrate } from "../migrate.ts";
import { migrations } from "../migrations.ts";
import { openTestPool } from "../testing/test-connection.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { closeAfterTest, copyStoppedCluster, query, startHolder } from "./embedded-postgres.test-kit.ts";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";
import { type OpenCluster, openCluster } from "./open-cluster.ts";

/** Opens a cluster as versions without the login role left it: everything in it belongs to the superuser. */
async function openFormerCluster(dataDirectory: string): Promise<OpenCluster> {
  const cluster = await openCluster({ dataDirectory });
  onTestFinished(() => cluster.close());
  await migrate(cluster.superuser, { upTo: "0003-narrowed-keys" });
  for (const statement of [
    "insert into users (id, email, name) values ('01900000-0000-7000-8000-000000000001', 'ada@example.com', 'Ada')",
    "insert into workspaces (id, name, slug) values ('01900000-0000-7000-8000-000000000002', 'Payments', 'payments')",
    "insert into members (workspace_id, user_id, role) select w.id, u.id, 'owner' from workspaces w, users u",
    // Objects that an operator may have added.
    'create schema "Reports of 2026"',
    'create table "Reports of 2026".totals (id serial, number bigint generated always as identity)',
    'create view "Reports of 2026".all_totals as select * from "Reports of 2026".totals',
    "create type mood as enum ('good')",
    "create domain percent as integer",
    "create sequence tickets",
    "create procedure nothing() language sql as ''",
  ])
    await query(cluster.superuser, statement);
  return cluster;
}

/** Lists the objects outside Postgres's own schemas that belong to this role, including the database. */
async function listOwned(superuser: ClusterConnection, role: string): Promise<string[]> {
  const rows = await query<{ name: string }>(
    superuser,
    `select pg_describe_object(classid, objid, 0) as name from (
      select 'pg_database'::regclass as classid, oid as objid, datdba as owner, 0 as namespace from pg_database
      where datname = current_database()
      union all select 'pg_namespace'::regclass, oid, nspowner, oid from pg_namespace
      union all select 'pg_class'::regclass, oid, relowner, relnamespace from pg_class
      union all select 'pg_proc'::regclass, oid, proowner, pronamespace from pg_proc
      union all select 'pg_type'::regclass, oid, typowner, typnamespace from pg_type
    ) as objects
    where owner = to_regrole('${role}')
      and namespace not in (select oid from pg_namespace where nspname ~ '^pg_' or nspname = 'information_schema')
    order by name`,
  );
  return rows.map(({ name }) => name);
}

test("$PGSSLMODE doesn't apply to the embedded Postgres", async () => {
  vi.stubEnv("PGSSLMODE", "require");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { connection } = closeAfterTest(
    await openEmbeddedPostgres({ dataDirectory: await copyStoppedCluster() }),
  );
  const db = openDatabase(connection, { applicationName: "latchkey test", role: "login" });
  onTestFinished(() => db.destroy());
  expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }]);
});

test("the product's role owns the database, can migrate it, and is not a superuser", async () => {
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory: await copyStoppedCluster() }));
  const { connection } = postgres;
  expect(connection).toMatchObject({ user: "latchkey_app", database: "latchkey" });
  expect(await migrate(connection)).toEqual(Object.keys(migrations));
  await requireRoles(connection);
  const rows = await query(
    connection,
    `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles
    where rolname = session_user or pg_has_role(session_user, oid, 'set') order by rolname`,
  );
  const none = {
    rolsuper: false,
    rolcreaterole: false,
    rolcreatedb: false,
    rolreplication: false,
    rolbypassrls: false,
  };
  expect(rows).toEqual([
    { rolname: "latchkey_admission", ...none },
    { rolname: "latchkey_app", ...none },
    { rolname: "latchkey_tenant", ...none },
    { rolname: "pg_database_owner", ...none },
  ]);
  for (const forbidden of [
    "set role latchkey",
    "select * from pg_authid",
    "create role intruder superuser",
    "copy users to program 'cat'",
    "select pg_read_file('latchkey.password')",
  ])
    await expect(query(connection, forbidden), forbidden).rejects.toMatchObject({ code: "42501" });
});

test("the product's password differs from the superuser's", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = await openCluster({ dataDirectory });
  onTestFinished(() => cluster.close());
  const { connection } = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  const { superuser } = cluster;
  expect(await query(superuser, "select current_setting('is_superuser') as value")).toEqual([
    { value: "on" },
  ]);
  const swapped = [
    { ...superuser, password: connection.password },
    { ...connection, password: superuser.password },
  ];
  for (const wrong of swapped) await expect(query(wrong, "select")).rejects.toMatchObject({ code: "28P01" });
});

test("takes over the cluster of a version that logs in as the superuser, while that version is running", async () => {
  const dataDirectory = await copyStoppedCluster();
  const former = await openFormerCluster(dataDirectory);
  expect(await listOwned(former.superuser, "latchkey_app")).toEqual([]);
  const before = await listOwned(former.superuser, "latchkey");
  expect(before).toContain("table users");
  expect(before).toContain('view "Reports of 2026".all_totals');

  const { connection } = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(await listOwned(former.superuser, "latchkey")).toEqual([]);
  expect(await listOwned(former.superuser, "latchkey_app")).toEqual(before);

  const later = { ...migrations, "9999-sample": { up: migrateEverything } };
  const applied = await migrate(connection, { known: later });
  expect(applied).toEqual(Object.keys(later).filter((name) => name > "0003-narrowed-keys"));
  await requireRoles(connection);

  // Row-level security applies to the product, and the former version, which is a superuser, keeps working.
  const db = openTestPool(connection, { applicationName: "test" });
  onTestFinished(() => db.destroy());
  expect(await db.selectFrom("users").select("email").execute()).toEqual([{ email: "ada@example.com" }]);
  expect(await db.selectFrom("workspaces").select("name").execute()).toEqual([]);
  expect(await query(former.superuser, "select name from workspaces")).toEqual([{ name: "Payments" }]);
  await query(former.superuser, "update users set name = 'Ada Lovelace'");
});

/** What only an owner may do in migrations: add to tables, replace functions, change policies, grant. */
async function migrateEverything(db: Kysely<unknown>): Promise<void> {
  for (const statement of [
    sql`alter table workspaces add column sample text`,
    sql`create index members_sample on members (role)`,
    sql`create or replace function named_user() returns uuid language sql stable return null::uuid`,
    sql`alter policy named_workspace on workspaces using (false)`,
    sql`grant select (sample) on workspaces to latchkey_admission`,
    sql`create table added (id uuid primary key)`,
  ])
    await statement.execute(db);
}

test("processes that open such a cluster concurrently all succeed, and wait for a table that a transaction locks", async () => {
  const dataDirectory = await copyStoppedCluster();
  const former = await openFormerCluster(dataDirectory);
  const holder = openTestPool(former.superuser, { applicationName: "test", role: "login" });
  onTestFinished(() => holder.destroy());
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const held = holder.transaction().execute(async (trx) => {
    await trx.selectFrom("users").select("id").execute();
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  let isOpen = false;
  const opening = Promise.all([
    startHolder(dataDirectory),
    startHolder(dataDirectory),
    openEmbeddedPostgres({ dataDirectory }).then(closeAfterTest),
  ]).then((opened) => {
    isOpen = true;
    return opened;
  });
  // While the lock is held, the step after the locked table is not reached.
  await expect.poll(() => listOwned(former.superuser, "latchkey_app")).toContain("table accounts");
  expect(isOpen).toBe(false);
  expect(await listOwned(former.superuser, "latchkey")).toContain("table users");
  release.resolve();
  await held;
  const [first, second, postgres] = await opening;
  expect(await listOwned(former.superuser, "latchkey")).toEqual([]);
  expect(await query(postgres.connection, "select name from users")).toEqual([{ name: "Ada" }]);
  expect(await Promise.all([first.finish(), second.finish()])).toEqual([0, 0]);
});

test("opening a cluster changes nothing if everything is in place, and repairs manual changes", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = await openCluster({ dataDirectory });
  onTestFinished(() => cluster.close());
  const first = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  await migrate(first.connection);
  const readVersions = () =>
    query(
      cluster.superuser,
      `select xmin::text from pg_authid where rolname = 'latchkey_app'
      union all select xmin::text from pg_database where datname = 'latchkey'
      union all select xmin::text from pg_class where oid = 'users'::regclass
      union all select xmin::text from pg_auth_members where member = 'latchkey_app'::regrole`,
    );
  const versions = await readVersions();
  const second = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(await readVersions()).toEqual(versions);
  expect(second.connection).toEqual(first.connection);

  await query(cluster.superuser, "alter role latchkey_app superuser password 'changed'");
  await query(cluster.superuser, "alter table users owner to latchkey");
  const third = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(await query(third.connection, "select current_setting('is_superuser') as value")).toEqual([
    { value: "off" },
  ]);
  expect(await listOwned(cluster.superuser, "latchkey")).toEqual([]);
});
