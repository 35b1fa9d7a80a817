import { migrations } from "../migrations.ts";
import { BackupError } from "./backup-error.ts";
import { type BackupTable, backupTables } from "./backup-tables.ts";

/**
 * A backup is text, compressed with gzip: the header as one line of JSON; the rows of each table of the header as `COPY`
 * writes them, each table ended by a line with `\.`; the trailer as one line of JSON. It is encoded in UTF-8.
 */
export interface BackupHeader {
  readonly format: "latchkey-backup";
  /** The version of this format. */
  readonly version: number;
  /** The version of Latchkey that made the backup. */
  readonly product: string;
  /** When the snapshot was taken, by the clock of the database, in ISO 8601. */
  readonly createdAt: string;
  /** The migrations that were applied to the database. The checksum is null if none is recorded. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string | null }[];
  readonly tables: readonly { readonly name: BackupTable; readonly columns: readonly string[] }[];
}

/** The last line of a backup. */
export interface BackupTrailer {
  /** How many rows each table has. */
  readonly rows: Readonly<Record<string, number>>;
  /** SHA-256 in hexadecimal of everything before this line. */
  readonly sha256: string;
}

export const formatName = "latchkey-backup";
export const formatVersion = 1;

/** The line after the last row of a table. `COPY` escapes backslashes, so no row can equal it. */
export const endOfRows = Buffer.from("\\.\n");

/** @throws {BackupError} `damaged-file`, `newer-version` */
export function parseHeader(line: string): BackupHeader {
  const header = parseJson(line);
  if (!isObject(header) || header.format !== formatName)
    throw new BackupError("damaged-file", "It is not a backup made by `latchkey backup`.");
  if (header.version !== formatVersion)
    throw newerVersionError(
      `in the format ${header.version}, while this version reads the format ${formatVersion}`,
    );
  if (!isHeader(header)) throw damagedFileError("its header is not valid");
  // A later version can add tables without changing the format.
  if (hasKnownTables(header)) return header;
  const newer = header.migrations.filter(({ name }) => !(name in migrations)).map(({ name }) => name);
  if (newer.length > 0) throw newerMigrationsError(newer);
  const tables = header.tables.filter(({ name }) => !isBackupTable(name)).map(({ name }) => name);
  throw newerVersionError(`with tables that this version doesn't have (${tables.join(", ")})`);
}

/**
 * The product's number may be the same in both versions, so the error names the migrations.
 * @param names the migrations that this version doesn't have.
 */
export function newerMigrationsError(names: readonly string[]): BackupError {
  return newerVersionError(`with migrations that this version doesn't have (${names.join(", ")})`);
}

function newerVersionError(what: string): BackupError {
  const message = `The backup was made by a newer version of Latchkey, ${what}. Restore it with the version that made it, or a newer one.`;
  return new BackupError("newer-version", message);
}

/** The longest name of a migration, a table or a column, in characters. */
const maxNameLength = 255;
const maxNames = 10_000;

/** A header whose tables may be unknown to this version. */
type AnyHeader = Omit<BackupHeader, "tables"> & {
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[] }[];
};

/** Whether an object with the format and version of this module has all members of a header, without duplicates. */
function isHeader(header: object): header is AnyHeader {
  const { product, createdAt, migrations, tables } = header as Partial<Record<keyof BackupHeader, unknown>>; // Checked here.
  if (!isName(product) || typeof createdAt !== "string" || !instant.test(createdAt)) return false;
  if (Number.isNaN(Date.parse(createdAt))) return false;
  return (
    isListOf(migrations, isAppliedMigration) &&
    hasDistinct(migrations.map(({ name }) => name)) &&
    isListOf(tables, isDumpedTable) &&
    hasDistinct(tables.map(({ name }) => name)) &&
    tables.every(({ columns }) => hasDistinct(columns))
  );
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const sha256Hex = /^[\da-f]{64}$/;

function isAppliedMigration(value: unknown): value is BackupHeader["migrations"][number] {
  if (!isObject(value) || !isName(value.name)) return false;
  return value.checksum === null || (typeof value.checksum === "string" && sha256Hex.test(value.checksum));
}

function isDumpedTable(value: unknown): value is AnyHeader["tables"][number] {
  return isObject(value) && isName(value.name) && isListOf(value.columns, isName);
}

function hasKnownTables(header: AnyHeader): header is BackupHeader {
  return header.tables.every(({ name }) => isBackupTable(name));
}

/** Whether a value is a list with 1 to `maxNames` items. */
function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.length > 0 && value.length <= maxNames && value.every(isItem);
}

function hasDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxNameLength;
}

/** @throws {BackupError} `damaged-file` */
export function parseTrailer(line: string): BackupTrailer {
  const trailer = parseJson(line);
  if (!isObject(trailer) || typeof trailer.sha256 !== "string" || !isObject(trailer.rows))
    throw damagedFileError("its last line is not valid");
  return trailer as unknown as BackupTrailer; // Checked above; the counts are compared with numbers.
}

/** @param reason part of a sentence. */
export function damagedFileError(reason: string, cause?: unknown): BackupError {
  return new BackupError("damaged-file", `It is truncated or damaged: ${reason}.`, { cause });
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isBackupTable(name: string): name is BackupTable {
  return backupTables.some((table) => table === name);
}
