import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { sql } from "kysely";
import type { Migrations } from "./migrations.ts";
import type { Db } from "./schema.ts";
import { UnsuitableDatabaseError } from "./unsuitable-database-error.ts";

/** A migration that was applied to the database. */
export interface AppliedMigration {
  readonly name: string;
  /** SHA-256 of its source in hexadecimal; undefined if a version without checksums applied it. */
  readonly checksum: string | undefined;
  /** The migration that a version must include to run on the schema; undefined if it was not recorded. */
  readonly compatibleFrom: string | undefined;
}

/** The differences between the database's migrations and a version's. */
export interface HistoryComparison {
  /** Not applied yet, in order. */
  readonly pending: readonly string[];
  /** Applied by a newer version, and compatible with this one; in order. */
  readonly newer: readonly string[];
  /** Applied from a source that differs from this version's; in order. */
  readonly changed: readonly string[];
}

/**
 * Reads the applied migrations, ordered by name.
 * @param schema the schema of Latchkey's tables, which may not exist yet.
 * @throws {UnsuitableDatabaseError} if the table `migrations` belongs to another application.
 */
export async function readHistory(db: Db, schema: string): Promise<AppliedMigration[]> {
  const { rows: columns } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = to_regclass(format('%I.migrations', ${schema}::text)) and attnum > 0 and not attisdropped`.execute(
    db,
  );
  if (columns.length === 0) return [];
  const hasColumns = ["name", "timestamp"].every((name) =>
    columns.some((column) => column.name === name && column.type === "character varying(255)"),
  );
  // Columns that an older schema lacks are missing from the object.
  const { rows } = await sql<{ applied: { name: string; checksum?: string; compatible_from?: string } }>`
    select to_jsonb(applied) as applied from ${sql.id(schema, "migrations")} applied`.execute(db);
  const history = rows.map(({ applied }) => ({
    name: applied.name,
    checksum: applied.checksum ?? undefined,
    compatibleFrom: applied.compatible_from ?? undefined,
  }));
  if (!hasColumns || (history.length > 0 && !history.some(({ name }) => name === firstMigration))) {
    throw new UnsuitableDatabaseError(
      "foreign-migrations-table",
      `The database has a table "migrations" in the schema "${schema}" that is not Latchkey's; give Latchkey a database of its own.`,
    );
  }
  return history.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const firstMigration = "0001-ground-floor";

/**
 * Compares the database's migrations with a version's.
 * @throws {UnsuitableDatabaseError} if the version can't run on this schema.
 */
export async function compareHistory(
  applied: readonly AppliedMigration[],
  known: Migrations,
): Promise<HistoryComparison> {
  const names = Object.keys(known).sort();
  const pending = names.filter((name) => !applied.some((migration) => migration.name === name));
  const newer = applied.filter(({ name }) => !(name in known));
  for (const { name, compatibleFrom } of newer) requireCompatible(name, compatibleFrom, names.at(-1) ?? "");
  if (newer[0] && pending[0]) {
    throw new UnsuitableDatabaseError(
      "schema-diverged",
      `The database has the migration "${newer[0].name}", which this version of Latchkey lacks, and lacks its migration "${pending[0]}"; start the version that migrated the database.`,
    );
  }
  const changed: string[] = [];
  for (const { name, checksum } of applied) {
    if (name in known && checksum !== undefined && (await readChecksum(name)) !== checksum)
      changed.push(name);
  }
  return { pending, newer: newer.map(({ name }) => name), changed };
}

function requireCompatible(name: string, compatibleFrom: string | undefined, newest: string): void {
  if (compatibleFrom !== undefined && compatibleFrom <= newest) return;
  const reason = compatibleFrom
    ? `on whose schema only versions with the migration "${compatibleFrom}" can run, and this one ends with "${newest}"`
    : `and this version ends with "${newest}"`;
  throw new UnsuitableDatabaseError(
    "schema-too-new",
    `The database needs a newer version of Latchkey: it has the migration "${name}", ${reason}.`,
  );
}

/** Creates the table of applied migrations, as Kysely's migrator did in version 0.1. */
export async function createHistory(db: Db, schema: string): Promise<void> {
  await sql`
    create table if not exists ${sql.id(schema, "migrations")} (
      name varchar(255) primary key,
      timestamp varchar(255) not null
    )`.execute(db);
}

/**
 * Records a migration as applied. Version 0.1 sorts by the timestamp, so each timestamp is later than all earlier ones,
 * even if the clock was set back.
 */
export async function addToHistory(db: Db, schema: string, name: string): Promise<void> {
  await sql`
    insert into ${sql.id(schema, "migrations")} (name, timestamp)
    select ${name}, to_char(
      greatest(clock_timestamp(), max(timestamp::timestamptz) + interval '1 millisecond') at time zone 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    )
    from ${sql.id(schema, "migrations")}`.execute(db);
}

/**
 * Adds missing checksums and compatibility to the applied migrations that this version includes: to new ones, and to
 * those that a version without checksums applied.
 */
export async function completeHistory(db: Db, schema: string, known: Migrations): Promise<void> {
  const applied = await readHistory(db, schema);
  // This migration adds the columns.
  if (!applied.some(({ name }) => name === "0008-migration-checksums")) return;
  for (const { name, checksum, compatibleFrom } of applied) {
    const migration = known[name];
    if (!migration || (checksum !== undefined && compatibleFrom !== undefined)) continue;
    await sql`
      update ${sql.id(schema, "migrations")}
      set checksum = coalesce(checksum, ${await readChecksum(name)}),
        compatible_from = coalesce(compatible_from, ${migration.compatibleFrom ?? firstMigration})
      where name = ${name}`.execute(db);
  }
}

/** SHA-256 of a migration's source with normalized line endings; null if it has no file, as in tests. */
async function readChecksum(name: string): Promise<string | null> {
  const path = new URL(`./migrations/${name}.ts`, import.meta.url);
  const source = await readFile(path, "utf8").catch(() => undefined);
  if (source === undefined) return null;
  return createHash("sha256").update(source.replaceAll("\r\n", "\n")).digest("hex");
}
