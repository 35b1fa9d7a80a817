import { createHash } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import type { DatabaseConnection } from "../connection.ts";
import { findSchema } from "../find-schema.ts";
import { SchemaMissingError } from "../migrate.ts";
import { readHistory } from "../migration-history.ts";
import { type Migrations, migrations } from "../migrations.ts";
import type { Db } from "../schema.ts";
import { BackupError } from "./backup-error.ts";
import { type BackupHeader, endOfRows, formatName, formatVersion } from "./backup-format.ts";
import { type BackupSession, openBackupSession } from "./backup-session.ts";
import { type BackupTable, backupTables } from "./backup-tables.ts";
import { findBackupTables } from "./find-backup-tables.ts";

/** The first migration after which the owner can read all rows. */
const oldestMigration = "0009-restorable-dumps";

export interface DumpOptions {
  /** The version of Latchkey, for the header. */
  readonly product: string;
  /** All known migrations; this version's by default. */
  readonly known?: Migrations;
  /** Called after the checks and before the snapshot is taken, so that the backup contains what it writes. */
  readonly beforeSnapshot?: () => Promise<void>;
  /** Called with the header and the number of rows when the last chunk has been read. */
  readonly onEnd?: (header: BackupHeader, rowCount: number) => void;
  /** How long Postgres may send nothing while the backup waits for it, in milliseconds; 60,000 by default. */
  readonly silenceMs?: number;
  /** Interrupts the backup, even while a statement waits for a lock or Postgres does not respond. */
  readonly signal?: AbortSignal;
}

/**
 * Reads a backup of a database in chunks, before compression. The backup is a consistent snapshot. Other transactions
 * can read and write while it is made. Its memory is bounded by the largest row.
 * @throws {BackupError} `newer-version`, `unsuitable-schema`, `unsuitable-login`, `silent-database`
 * @throws {SchemaMissingError} if the database has no Latchkey schema.
 * @throws {UnsuitableDatabaseError} `foreign-migrations-table`, `schema-named-like-login`
 */
export async function* dumpDatabase(
  connection: DatabaseConnection,
  { product, known = migrations, beforeSnapshot, onEnd, silenceMs = 60_000, signal }: DumpOptions,
): AsyncGenerator<Buffer> {
  const session = await openBackupSession(connection, "latchkey backup");
  const interrupt = (): void => void session.close();
  try {
    signal?.throwIfAborted();
    signal?.addEventListener("abort", interrupt);
    const withTimeout: WithTimeout = (work) => limitSilence(session, silenceMs, work);
    await withTimeout(readSchema(session.db, known));
    await beforeSnapshot?.();
    const { schema, header } = await withTimeout(takeSnapshot(session, { product, known }));
    const hash = createHash("sha256");
    const hashed = (chunk: Buffer): Buffer => {
      hash.update(chunk);
      return chunk;
    };
    const rows: Record<string, number> = {};
    yield hashed(Buffer.from(`${JSON.stringify(header)}\n`));
    for (const { name, columns } of header.tables) {
      let count = 0;
      for await (const chunk of readRows(session, { schema, name, columns }, withTimeout)) {
        for (let at = chunk.indexOf("\n"); at !== -1; at = chunk.indexOf("\n", at + 1)) count += 1;
        yield hashed(chunk);
      }
      rows[name] = count;
      yield hashed(endOfRows);
    }
    yield Buffer.from(`${JSON.stringify({ rows, sha256: hash.digest("hex") })}\n`);
    onEnd?.(
      header,
      Object.values(rows).reduce((sum, count) => sum + count, 0),
    );
  } finally {
    signal?.removeEventListener("abort", interrupt);
    await session.close();
  }
}

/** Begins the transaction whose snapshot is backed up, and returns the header. */
async function takeSnapshot(
  session: BackupSession,
  { product, known }: { readonly product: string; readonly known: Migrations },
): Promise<{ readonly schema: string; readonly header: BackupHeader }> {
  const { client, db } = session;
  const present = await findBackupTables(db);
  await client.query("begin isolation level repeatable read read only");
  // Locks the tables before the first query takes the snapshot. If a migration rewrote a table after the snapshot was
  // taken, the table would appear empty in the snapshot.
  if (present.length > 0)
    await client.query(
      `lock table ${present.map(({ table }) => pg.escapeIdentifier(table)).join(", ")} in access share mode`,
    );
  // Checks again, because a migration may have run since.
  const { schema, history, tables } = await readSchema(db, known);
  const { rows } = await sql<{ createdAt: Date }>`select now() as "createdAt"`.execute(db);
  const [{ createdAt } = { createdAt: new Date(0) }] = rows;
  const header: BackupHeader = {
    format: formatName,
    version: formatVersion,
    product,
    createdAt: createdAt.toISOString(),
    migrations: history.map(({ name, checksum = null }) => ({ name, checksum })),
    tables,
  };
  return { schema, header };
}

/**
 * Reads what a backup states of the schema, and checks that this version can back it up.
 * @throws {BackupError} `newer-version`, `unsuitable-schema`, `unsuitable-login`
 * @throws {SchemaMissingError} if the database has no Latchkey schema.
 * @throws {UnsuitableDatabaseError} `foreign-migrations-table`, `schema-named-like-login`
 */
async function readSchema(db: Db, known: Migrations) {
  const schema = await findSchema(db);
  const history = schema === undefined ? [] : await readHistory(db, schema);
  if (schema === undefined || history.length === 0) throw new SchemaMissingError();
  const newer = history.find(({ name }) => !(name in known));
  if (newer) {
    throw new BackupError(
      "newer-version",
      `A newer version of Latchkey has migrated the database (${newer.name}); back it up with that version.`,
    );
  }
  if (!history.some(({ name }) => name >= oldestMigration)) {
    throw new BackupError(
      "unsuitable-schema",
      "The schema of the database is too old to be backed up; bring it up to date with `latchkey migrate` first.",
    );
  }
  return { schema, history, tables: await readTables(db) };
}

/** The tables that the schema has, with their columns. @throws {BackupError} `unsuitable-login` */
async function readTables(db: Db): Promise<BackupHeader["tables"]> {
  const { rows } = await sql<{ name: BackupTable; columns: string[]; isHidden: boolean }>`
    select relname as name, array_agg(attname::text order by attnum) as columns,
      row_security_active(pg_class.oid) and not pg_has_role('pg_database_owner', 'usage') as "isHidden"
    from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
    where relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')
      and relname = any(${backupTables as readonly string[]})
    group by pg_class.oid, relname`.execute(db);
  if (rows.some(({ isHidden }) => isHidden)) {
    throw new BackupError(
      "unsuitable-login",
      "The user of DATABASE_URL doesn't own the database, so row-level security hides rows from it; make the backup as the owner.",
    );
  }
  return backupTables.flatMap((name) => {
    const found = rows.find((row) => row.name === name);
    return found ? [{ name, columns: found.columns }] : [];
  });
}

async function* readRows(
  { client }: BackupSession,
  table: BackupHeader["tables"][number] & { readonly schema: string },
  withTimeout: WithTimeout,
): AsyncGenerator<Buffer> {
  const name = `${pg.escapeIdentifier(table.schema)}.${pg.escapeIdentifier(table.name)}`;
  const list = table.columns.map((column) => pg.escapeIdentifier(column)).join(", ");
  const stream = client.query(copyTo(`copy ${name} (${list}) to stdout`));
  try {
    const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
    while (true) {
      const { done, value } = await withTimeout(chunks.next());
      if (done) return;
      yield value;
    }
  } finally {
    stream.destroy();
  }
}

type WithTimeout = <Result>(work: Promise<Result>) => Promise<Result>;

/**
 * Waits for Postgres, and ends the connection if that takes longer than `silenceMs`. Time that the reader of the backup
 * takes doesn't count.
 * @throws {BackupError} `silent-database`
 */
async function limitSilence<Result>(
  session: BackupSession,
  silenceMs: number,
  work: Promise<Result>,
): Promise<Result> {
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    void session.close();
  }, silenceMs);
  try {
    return await work;
  } catch (error) {
    if (!isSilent) throw error;
    const seconds = Math.round(silenceMs / 1_000);
    throw new BackupError("silent-database", `The database has not answered for ${seconds} seconds.`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
