import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { sql } from "kysely";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { DatabaseConnection } from "../connection.ts";
import { type MigrationWarning, migrate } from "../migrate.ts";
import { readHistory } from "../migration-history.ts";
import { type Migrations, migrations } from "../migrations.ts";
import type { AttemptOutcome } from "../schema/webhooks.ts";
import type { Db } from "../schema.ts";
import { isDatabaseUnavailable } from "../sqlstate.ts";
import { appendAttempt } from "../webhook-deliveries.ts";
import { BackupError } from "./backup-error.ts";
import { type BackupHeader, damagedFileError, newerMigrationsError } from "./backup-format.ts";
import { type BackupSession, openBackupSession } from "./backup-session.ts";
import { disposableTables } from "./backup-tables.ts";
import { findBackupTables } from "./find-backup-tables.ts";
import { type BackupContents, readBackup } from "./read-backup.ts";
import { requireUnused } from "./require-unused.ts";

/** What was restored. */
export interface RestoreResult extends BackupContents {
  /** Whether the database had no schema before. */
  readonly isNew: boolean;
  /**
   * Why the statistics of the restored tables could not be updated. Postgres updates them automatically after a while.
   */
  readonly analyzeFailure?: string;
}

export interface RestoreOptions {
  /** The header of the backup, which `readBackup` has checked to its end. */
  readonly header: BackupHeader;
  /** Reads the backup again from its beginning, uncompressed. */
  readonly openBackup: () => AsyncIterable<Buffer>;
  /** Whether the database is the embedded Postgres of this process. */
  readonly isEmbedded: boolean;
  /** All known migrations; this version's by default. */
  readonly known?: Migrations;
  readonly onWarning?: (warning: MigrationWarning) => void;
  /** Interrupts the restore; nothing is restored then. */
  readonly signal?: AbortSignal;
}

/**
 * Restores a backup into a database without data. Creates the schema that the backup was made from, loads all rows in
 * one transaction, and then migrates the schema to this version. If it fails before the rows are committed, the
 * database has a schema and no data.
 * @throws {BackupError}
 */
export async function restoreDatabase(
  connection: DatabaseConnection,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const { header, known = migrations, onWarning = () => undefined, signal } = options;
  const backupMigrations = selectMigrations(header, known);
  const session = await openBackupSession(connection, "latchkey restore");
  try {
    await requireUnused(session.db, options.isEmbedded);
    await requireSameSchema(session.db, header, { isEmptyAllowed: true });
    const applied = await migrate(connection, { known: backupMigrations, onWarning });
    const { contents, tables } = await limitToSignal(session, signal, () => loadRows(session, options));
    const analyzeFailure = await commitRows(session, tables);
    await migrate(connection, { known, onWarning });
    return { ...contents, ...analyzeFailure, isNew: applied.length > 0 };
  } finally {
    await session.close();
  }
}

/**
 * Selects the migrations that were applied to the backup's database.
 * @throws {BackupError} `newer-version`, `damaged-file`
 */
function selectMigrations(header: BackupHeader, known: Migrations): Migrations {
  const names = header.migrations.map(({ name }) => name);
  const newer = names.filter((name) => !(name in known));
  if (newer.length > 0) throw newerMigrationsError(newer);
  // Every version applies its migrations in order, without gaps.
  const newest = names.toSorted().at(-1) ?? "";
  const hasGap = Object.keys(known).some((name) => name < newest && !names.includes(name));
  if (hasGap) throw damagedFileError("its header is not valid");
  return Object.fromEntries(Object.entries(known).filter(([name]) => names.includes(name)));
}

/**
 * Requires the schema that the backup was made from. Rows of one schema can't be loaded into another, because later
 * migrations may have changed the rows that existed then.
 * @throws {BackupError} `unsuitable-schema`
 */
async function requireSameSchema(
  db: Db,
  header: BackupHeader,
  { isEmptyAllowed }: { readonly isEmptyAllowed: boolean },
): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  const applied = (await readHistory(db, schema)).map(({ name }) => name);
  const expected = header.migrations.map(({ name }) => name);
  const isSame = applied.length === expected.length && expected.every((name) => applied.includes(name));
  if (isSame || (isEmptyAllowed && applied.length === 0)) return schema;
  const [first = ""] = [
    ...applied.filter((name) => !expected.includes(name)),
    ...expected.filter((name) => !applied.includes(name)),
  ];
  throw new BackupError(
    "unsuitable-schema",
    `The database already has a schema that differs from the backup's (${first}); restore the backup into a database without a schema.`,
  );
}

/** Closes the session when the signal aborts, which ends a statement that waits for a lock, or for a Postgres that does not respond. */
async function limitToSignal<Result>(
  session: BackupSession,
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const interrupt = (): void => void session.close();
  signal?.throwIfAborted();
  signal?.addEventListener("abort", interrupt);
  try {
    return await work();
  } finally {
    signal?.removeEventListener("abort", interrupt);
  }
}

/** Loads all rows in a transaction. @returns also the quoted names of the tables. */
async function loadRows(
  session: BackupSession,
  options: RestoreOptions,
): Promise<{ readonly contents: BackupContents; readonly tables: readonly string[] }> {
  const { client, db } = session;
  const { signal } = options;
  await client.query("begin");
  const schema = await requireSameSchema(db, options.header, { isEmptyAllowed: false });
  const name = (table: string): string => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`;
  const present = await findBackupTables(db);
  const tables = present.map(({ table }) => name(table));
  await client.query(`lock table ${tables.join(", ")} in access exclusive mode`);
  for (const { table, isForced } of present) {
    // Without forced row-level security, the owner can write all rows. A trigger would change rows that must be
    // restored unchanged.
    if (isForced) await client.query(`alter table ${name(table)} no force row level security`);
    await client.query(`alter table ${name(table)} disable trigger user`);
  }
  await requireEmpty(
    session,
    present.map(({ table }) => table),
    name,
  );
  const contents = await readBackup(options.openBackup(), async ({ name: table, columns }, rows) => {
    const list = columns.map((column) => pg.escapeIdentifier(column)).join(", ");
    const copy = client.query(copyFrom(`copy ${name(table)} (${list}) from stdin`));
    try {
      await pipeline(Readable.from(rows, { objectMode: false }), copy, { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw explainRejection(error, table);
    }
    return copy.rowCount;
  });
  for (const { table } of present) {
    if (table === "webhook_deliveries") await failPendingDeliveries(db, schema);
    if (table === "webhooks") await clearFailures(db, schema);
    if (table === "notices") await cancelDueEmails(db, schema);
  }
  for (const { table, isForced } of present) {
    await client.query(`alter table ${name(table)} enable trigger user`);
    if (isForced) await client.query(`alter table ${name(table)} force row level security`);
  }
  signal?.throwIfAborted();
  return { contents, tables };
}

/** Commits the transaction. Then the backup is restored, even if the statistics can't be updated. */
async function commitRows(
  { client }: BackupSession,
  tables: readonly string[],
): Promise<Pick<RestoreResult, "analyzeFailure">> {
  await client.query("commit");
  return await client.query(`analyze ${tables.join(", ")}`).then(
    () => ({}),
    (error: unknown) => ({ analyzeFailure: String(error) }),
  );
}

/**
 * Marks the deliveries as failed that were pending in the backup, which has no jobs. Their jobs aren't added again: the original
 * instance has sent these messages or still sends them, and a copy that is restored beside it, as a test, must send nothing again.
 */
async function failPendingDeliveries(db: Db, schema: string): Promise<void> {
  const reason: AttemptOutcome = { status: null, error: "restored", durationMs: 0 };
  await sql`
    update ${sql.id(schema, "webhook_deliveries")} set
      status = 'failed', next_attempt_at = null, attempts = ${appendAttempt(reason, sql`clock_timestamp()`)}
    where status = 'pending'`.execute(db);
}

/** Later attempts of the original instance may have succeeded. */
async function clearFailures(db: Db, schema: string): Promise<void> {
  await sql`
    update ${sql.id(schema, "webhooks")} set failing_since = null where failing_since is not null`.execute(
    db,
  );
}

/** Leaves the notices whose emails were due in the backup without an email, for the same reason. */
async function cancelDueEmails(db: Db, schema: string): Promise<void> {
  await sql`
    update ${sql.id(schema, "notices")} set is_email_due = false, email_claimed_until = null
    where is_email_due`.execute(db);
}

/** @throws {BackupError} `database-not-empty` */
async function requireEmpty(
  { client }: BackupSession,
  tables: readonly string[],
  name: (table: string) => string,
): Promise<void> {
  for (const table of tables) {
    if (disposableTables.some((disposable) => disposable === table)) {
      await client.query(`delete from ${name(table)}`);
      continue;
    }
    const { rowCount } = await client.query(`select from ${name(table)} limit 1`);
    if (rowCount) {
      throw new BackupError(
        "database-not-empty",
        `The database has data (the table "${table}" has rows); restore the backup into an empty database.`,
      );
    }
  }
}

/** Translates an error that Postgres reports about rows. Returns any other error unchanged, such as that of a full disk. */
function explainRejection(error: unknown, table: string): unknown {
  if (!(error instanceof pg.DatabaseError) || isDatabaseUnavailable(error)) return error;
  return new BackupError(
    "rejected-rows",
    `The database rejects rows of the table "${table}": ${error.message}.`,
    { cause: error },
  );
}
