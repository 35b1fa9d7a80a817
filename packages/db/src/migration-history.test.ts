import { type Kysely, sql } from "kysely";
import { expect, test } from "vitest";
import { dumpDatabase } from "./backup/dump-database.ts";
import type { DatabaseConnection } from "./connection.ts";
import {
  createEmptyDatabase,
  createMigratedDatabase,
  createOwner,
  giveDatabase,
} from "./migrate.test-kit.ts";
import { type MigrateOptions, type MigrationWarning, migrate } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import type { Db } from "./schema.ts";

const up = async (): Promise<void> => undefined;

/** Migrates, and also returns the warnings. */
async function migrateWithWarnings(
  connection: DatabaseConnection,
  options: MigrateOptions = {},
): Promise<{ readonly applied: readonly string[]; readonly warnings: readonly MigrationWarning[] }> {
  const warnings: MigrationWarning[] = [];
  const applied = await migrate(connection, { ...options, onWarning: (warning) => warnings.push(warning) });
  return { applied, warnings };
}

async function readRecords(db: Db): Promise<Readonly<Record<string, readonly (string | null)[]>>> {
  const { rows } = await sql<{ name: string; checksum: string | null; compatible_from: string | null }>`
    select name, checksum, compatible_from from migrations order by name`.execute(db);
  return Object.fromEntries(rows.map((row) => [row.name, [row.checksum, row.compatible_from]]));
}

/**
 * The checksums of the released sources. A released migration is never edited, so rows are only added to this table.
 */
const released = {
  "0001-ground-floor": "964918413154a0dc185e0c89d7ffd40f887cd492b881d7608486a789b891ec79",
  "0002-the-wall": "dd3444a95f3474605b1ed47018dd682885d217eaff0ddb351933d6656e0bfb14",
  "0003-narrowed-keys": "f50bb8a01d9d475843f2b48e3e900462dc6fffd72a6b01f30bb1b80904169de2",
};

test("records the checksum of each migration's source, including those that a version without checksums applied", async () => {
  const { connection, db } = await createEmptyDatabase();
  await migrate(connection, { upTo: "0003-narrowed-keys" });
  expect((await migrateWithWarnings(connection)).warnings).toEqual([]);
  const records = await readRecords(db);
  expect(Object.keys(records)).toEqual(Object.keys(migrations));
  expect(records).toMatchObject(
    Object.fromEntries(
      Object.entries(released).map(([name, checksum]) => [name, [checksum, "0001-ground-floor"]]),
    ),
  );
  for (const [checksum] of Object.values(records)) expect(checksum).toMatch(/^[0-9a-f]{64}$/);

  // The state after a crash between the migration and its record.
  await sql`update migrations set checksum = null, compatible_from = null`.execute(db);
  expect(await migrateWithWarnings(connection)).toEqual({ applied: [], warnings: [] });
  expect(await readRecords(db)).toEqual(records);
});

test("reports a migration whose source has changed since it was applied, and does not change its record", async () => {
  const { connection, db } = await createMigratedDatabase();
  await sql`update migrations set checksum = ${"0".repeat(64)} where name = '0002-the-wall'`.execute(db);
  const records = await readRecords(db);
  expect(await migrateWithWarnings(connection)).toEqual({
    applied: [],
    warnings: [{ kind: "changed", migrations: ["0002-the-wall"] }],
  });
  expect(await readRecords(db)).toEqual(records);
});

test("runs on the schema of a newer version whose migrations only add, and reports it", async () => {
  const { connection } = await createMigratedDatabase();
  const newer = { ...migrations, "9001-added": { up }, "9002-added": { up } };
  await migrate(connection, { known: newer });
  expect(await migrateWithWarnings(connection)).toEqual({
    applied: [],
    warnings: [{ kind: "newer", migrations: ["9001-added", "9002-added"] }],
  });
});

test("after a migration that removes something, only the versions that it names can run", async () => {
  const { connection } = await createMigratedDatabase();
  const between = { ...migrations, "9001-stops-using": { up } };
  const newer = { ...between, "9002-removes": { up, compatibleFrom: "9001-stops-using" } };
  await migrate(connection, { known: newer });
  expect((await migrateWithWarnings(connection, { known: between })).warnings).toEqual([
    { kind: "newer", migrations: ["9002-removes"] },
  ]);
  await expect(migrate(connection)).rejects.toMatchObject({
    name: "UnsuitableDatabaseError",
    kind: "schema-too-new",
    message:
      'The database needs a newer version of Latchkey: it has the migration "9002-removes", on whose schema only versions ' +
      `with the migration "9001-stops-using" can run, and this one ends with "${Object.keys(migrations).at(-1)}".`,
  });
});

test("does not run on the schema of a newer version that recorded no compatibility", async () => {
  const { connection, db } = await createMigratedDatabase();
  await sql`insert into migrations (name, timestamp) values ('9999-from-the-future', '2030-01-01')`.execute(
    db,
  );
  await expect(migrate(connection)).rejects.toMatchObject({
    kind: "schema-too-new",
    message: `The database needs a newer version of Latchkey: it has the migration "9999-from-the-future", and this version ends with "${Object.keys(migrations).at(-1)}".`,
  });
});

test("reports that the database and the version each have a migration that the other lacks", async () => {
  const { connection } = await createMigratedDatabase();
  await migrate(connection, { known: { ...migrations, "9001-theirs": { up } } });
  await expect(migrate(connection, { known: { ...migrations, "9002-ours": { up } } })).rejects.toMatchObject({
    kind: "schema-diverged",
    message:
      'The database has the migration "9001-theirs", which this version of Latchkey lacks, and lacks its migration "9002-ours"; start the version that migrated the database.',
  });
});

test("a version that starts while a newer one migrates waits, and runs on the newer schema", async () => {
  const { connection } = await createEmptyDatabase();
  const slow = async (db: Kysely<unknown>): Promise<void> => {
    await sql`select pg_sleep(0.5)`.execute(db);
  };
  const newer = { ...migrations, "9001-slow": { up: slow } };
  const applied = await Promise.all([
    migrate(connection, { known: newer }),
    migrate(connection),
    migrate(connection, { known: newer }),
    migrate(connection),
  ]);
  expect(applied.flat().sort()).toEqual(Object.keys(newer));
});

const foreignTables = {
  typeorm:
    "create table migrations (id serial primary key, timestamp bigint not null, name varchar not null)",
  laravel: "create table migrations (id serial, migration varchar(255), batch integer)",
  kysely:
    "create table migrations as select '2025-01-create-users'::varchar(255) as name, '2025-01-01'::varchar(255) as timestamp",
};

test.each(Object.entries(foreignTables))(
  "rejects a foreign table named migrations, as %s creates it, and changes nothing",
  async (_like, statement) => {
    const { connection, db } = await createEmptyDatabase();
    await sql.raw(statement).execute(db);
    await expect(migrate(connection)).rejects.toMatchObject({
      kind: "foreign-migrations-table",
      message:
        'The database has a table "migrations" in the schema "public" that is not Latchkey\'s; give Latchkey a database of its own.',
    });
    const { rows } = await sql`select tablename from pg_tables where schemaname = 'public'`.execute(db);
    expect(rows).toEqual([{ tablename: "migrations" }]);
  },
);

test("ignores tables of another application with these names in another schema", async () => {
  const { connection, db } = await createEmptyDatabase();
  await sql`create schema elsewhere`.execute(db);
  await sql`create table elsewhere.migrations (id integer)`.execute(db);
  await sql`create table elsewhere.migrations_lock (id integer)`.execute(db);
  expect(await migrate(connection)).toEqual(Object.keys(migrations));
  expect(await migrate(connection)).toEqual([]);
});

test("rejects a schema with the name of the login, creates nothing, and gives advice that works", async () => {
  const database = await createEmptyDatabase();
  const { db } = database;
  const login = await giveDatabase(database, await createOwner(db));
  const name = login.user;
  await sql`create schema authorization ${sql.id(name)}`.execute(db);
  const error = await migrate(login).catch((thrown: unknown) => thrown);
  const advice = `alter role "${name}" in database "${login.database}" set search_path = public;`;
  expect(error).toMatchObject({
    kind: "schema-named-like-login",
    message:
      `The database has a schema named after its user "${name}". That user would find other tables than the ` +
      `roles that keep tenants apart; rename the schema, or run: ${advice}`,
  });
  const { rows } =
    await sql`select from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`.execute(db);
  expect(rows).toEqual([]);
  await sql.raw(advice).execute(db);
  expect(await migrate(login)).toEqual(Object.keys(migrations));
});

test("a backup rejects a schema with the name of the login that was created beside Latchkey's tables", async () => {
  const database = await createMigratedDatabase();
  const login = await giveDatabase(database, await createOwner(database.db));
  await sql`create schema authorization ${sql.id(login.user)}`.execute(database.db);
  const chunks = Array.fromAsync(dumpDatabase(login, { product: "1.2.3-test" }));
  await expect(chunks).rejects.toMatchObject({
    kind: "schema-named-like-login",
    message: expect.stringContaining(`a schema named after its user "${login.user}"`),
  });
});
