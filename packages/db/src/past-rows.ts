import { type Selectable, sql } from "kysely";
import type { Database, Db, Trx } from "./schema.ts";

/** A value as JSON that Postgres converts to the type of the column: bytes are `\x` and hexadecimal digits. */
type InJson<Value> = Value extends Buffer ? string : Value;

/** The columns of a new row that aren't left to their defaults. */
export type PastRow<Table extends keyof Database> = {
  readonly [Column in keyof Selectable<Database[Table]>]?: InJson<Selectable<Database[Table]>[Column]>;
};

/** How many rows one statement inserts, which bounds its time and memory. */
const rowsPerStatement = 5_000;

/**
 * Inserts rows with times in the past, for the data of a demo. Nothing is appended to a log, and nothing is
 * checked but the constraints of the table. All rows have the columns of the first one.
 */
export async function insertPastRows<Table extends keyof Database>(
  trx: Trx,
  table: Table,
  rows: readonly PastRow<Table>[],
): Promise<void> {
  const names = Object.keys(rows[0] ?? {}).map((name) => sql.ref(name));
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    const json = JSON.stringify(rows.slice(start, start + rowsPerStatement));
    await sql`
      insert into ${sql.table(table)} (${sql.join(names)})
      select ${sql.join(names)} from json_populate_recordset(null::${sql.table(table)}, ${json}::json)`.execute(
      trx,
    );
  }
}

/** Formats bytes for {@link insertPastRows}. */
export function toHex(bytes: Buffer): string {
  return `\\x${bytes.toString("hex")}`;
}

/** Updates the statistics by which Postgres plans queries, as the owner of the tables. */
export async function analyzeTables(db: Db): Promise<void> {
  await sql`vacuum (analyze)`.execute(db);
}
