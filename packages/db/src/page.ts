import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";

/** The end of a page: the sort value of its last row, as text, and the row's ID. */
export interface Position {
  readonly value: string;
  readonly id: string;
}

/** Rows of a page that can be shorter than its limit although there are more rows. */
export interface ExaminedRows<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; undefined if the rows themselves determine that. */
  readonly examinedTo: Position | undefined;
}

/** A page of a list. */
export interface Page {
  /** The most rows. Request one more than you show, to find out whether there are more. */
  readonly limit: number;
  readonly direction: "asc" | "desc";
  /** Only rows after this position. */
  readonly after?: Position | undefined;
}

/** The column that a list is sorted by, and the column that orders rows with equal values. */
export interface Order {
  /** A column, with its table. */
  readonly column: string;
  readonly type: "bigint" | "text" | "timestamptz";
  /** A column of IDs, with its table. */
  readonly id: string;
}

/** How a position contains a value of each type: `write` turns a column into text, and `read` turns the text back. */
const positionTypes: Readonly<Record<Order["type"], PositionType>> = {
  bigint: {
    write: (column) => sql<string>`${column}::text`,
    read: (value) => sql`${value}::bigint`,
  },
  text: {
    write: (column) => sql<string>`${column}`,
    read: (value) => sql`${value}::text`,
  },
  timestamptz: {
    write: (column) => sql<string>`(extract(epoch from ${column}) * 1000000)::bigint::text`,
    // An interval is multiplied by a double, which can't represent all microseconds of later centuries.
    read: (value) => sql`timestamptz 'epoch' + ${value}::bigint / 1000000 * interval '1 second'
      + ${value}::bigint % 1000000 * interval '1 microsecond'`,
  },
};

interface PositionType {
  readonly write: (column: RawBuilder<unknown>) => RawBuilder<string>;
  readonly read: (value: string) => RawBuilder<unknown>;
}

/**
 * Limits a query to one page, which starts after the position where the previous page ended. Rows that are added or
 * removed between two pages therefore cause no other row to be repeated or skipped. Only a row whose own sort value
 * changes between two pages can be repeated or skipped. Adds `position` to each row: the exact sort value in Postgres, or
 * for a time, microseconds since 1970.
 */
export function cutPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: Order,
  page: Page,
): SelectQueryBuilder<DB, TB, Row & { position: string }> {
  const column = sql.ref(order.column);
  const id = sql.ref(order.id);
  const direction = sql.raw(page.direction);
  const sorted = query
    .select(writePosition(order).as("position"))
    .orderBy(sql`${column} ${direction}, ${id} ${direction}`)
    .limit(page.limit);
  const cut = page.after ? sorted.where(isAfter(order, page.direction, page.after)) : sorted;
  return cut as SelectQueryBuilder<DB, TB, Row & { position: string }>; // `position` is selected above.
}

/** SQL for the `position` of a row. */
export function writePosition({ column, type }: Order): RawBuilder<string> {
  return positionTypes[type].write(sql.ref(column));
}

/** SQL for whether a row comes after the end of a page. */
export function isAfter(
  order: Order,
  direction: Page["direction"],
  { value, id }: Position,
): RawBuilder<boolean> {
  const last = positionTypes[order.type].read(value);
  const beyond = sql.raw(direction === "asc" ? ">" : "<");
  return sql<boolean>`(${sql.ref(order.column)}, ${sql.ref(order.id)}) ${beyond} (${last}, ${id}::uuid)`;
}
