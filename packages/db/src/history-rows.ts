import { type RawBuilder, sql } from "kysely";
import type { Database, Db, Trx } from "./schema.ts";

/**
 * Writes history in one transaction. Write rows in the order of their keys, one table after the other, so that two nodes can
 * wait for each other but can't deadlock.
 * @throws what the driver throws, including when a row stays locked for half a second.
 */
export async function writeHistory(db: Db, write: (trx: Trx) => Promise<void>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select set_config('lock_timeout', '500ms', true)`.execute(trx);
    await write(trx);
  });
}

/** How many of the newest rows of a table are kept per key. Together with the key, the column identifies a row. */
export interface HistoryLimit {
  readonly table: keyof Database;
  readonly column: string;
  readonly newestFirst: RawBuilder<unknown>;
  readonly count: number;
}

/**
 * Deletes all but the newest rows of each key in `input`. Skips rows that another node has locked, because that node is
 * deleting or writing them.
 */
export async function deleteSurplus(
  trx: Trx,
  { table: name, column: columnName, newestFirst, count }: HistoryLimit,
  input: RawBuilder<unknown>,
): Promise<void> {
  const [table, column] = [sql.table(name), sql.ref(columnName)];
  await sql`
    with surplus as (
      select touched.key_id, old.${column}
      from (select distinct "keyId" as key_id from ${input}) touched
      cross join lateral (
        select ${column} from ${table} where key_id = touched.key_id order by ${newestFirst} offset ${count}
      ) old
    ),
    locked as materialized (
      select history.key_id, history.${column} from ${table} history
      join surplus using (key_id, ${column})
      order by 1, 2
      for update of history skip locked
    )
    delete from ${table} where (key_id, ${column}) in (select * from locked)`.execute(trx);
}

type ColumnType = "uuid" | "text" | "timestamptz" | "bigint";

type ColumnTypes<Row> = {
  readonly [Column in keyof Row & string]: ColumnType;
};

/** SQL for a table `items` with one row per item and columns of these types. Can be used in several statements. */
export function asTable<Row extends object>(
  rows: readonly Row[],
  types: ColumnTypes<Row>,
): RawBuilder<unknown> {
  const columns = Object.keys(types).map((name) => sql.ref(name));
  return sql`unnest(${sql.join(asArrays(rows, types))}) as items (${sql.join(columns)})`;
}

/**
 * SQL for one array per column of these types. The arrays are formatted here, once for all statements, because the driver would
 * format each element again for each statement (docs/decisions/0075).
 */
export function asArrays<Row extends object>(
  rows: readonly Row[],
  types: ColumnTypes<Row>,
): RawBuilder<unknown>[] {
  const columns = Object.keys(types) as (keyof typeof types)[]; // The object has exactly these keys.
  return columns.map((name) => {
    const elements = rows.map((row) => formatElement(row[name]));
    return sql`${`{${elements.join()}}`}::${sql.raw(types[name])}[]`;
  });
}

/** Formats an element of an array literal. @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function formatElement(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Date) return `"${value.toISOString()}"`;
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}
