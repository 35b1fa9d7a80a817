import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";

/** Where a page ended: the last row's value of what the list is sorted by, as text, and its id. */
export interface Position {
  readonly value: string;
  readonly id: string;
}

/** Which page of a list. */
export interface Page {
  /** How many rows at most. Ask for one more than is shown, to learn whether there are more. */
  readonly limit: number;
  readonly direction: "asc" | "desc";
  /** Only what comes after this. */
  readonly after?: Position | undefined;
}

/** What a list can be sorted by, and what makes the order of equals certain. */
export interface Order {
  /** A column, with its table. */
  readonly column: string;
  readonly type: "text" | "timestamptz";
  /** A column of ids, with its table. */
  readonly id: string;
}

/**
 * Cuts a page out of a list by where the page before ended, so that what is added or removed meanwhile neither repeats
 * a row nor skips one. Adds `position` to each row: the value sorted by, exactly as Postgres holds it; a time in
 * microseconds since 1970.
 */
export function cutPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: Order,
  page: Page,
): SelectQueryBuilder<DB, TB, Row & { position: string }> {
  const column = sql.ref(order.column);
  const id = sql.ref(order.id);
  const direction = sql.raw(page.direction);
  const position =
    order.type === "text"
      ? sql<string>`${column}`
      : sql<string>`(extract(epoch from ${column}) * 1000000)::bigint::text`;
  const sorted = query
    .select(position.as("position"))
    .orderBy(sql`${column} ${direction}, ${id} ${direction}`)
    .limit(page.limit);
  const cut = page.after ? sorted.where(isBeyond(order, page.direction, page.after)) : sorted;
  return cut as SelectQueryBuilder<DB, TB, Row & { position: string }>; // It was just selected.
}

function isBeyond(order: Order, direction: Page["direction"], { value, id }: Position): RawBuilder<boolean> {
  const last =
    order.type === "text"
      ? sql`${value}::text`
      : sql`timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`;
  const beyond = sql.raw(direction === "asc" ? ">" : "<");
  return sql<boolean>`(${sql.ref(order.column)}, ${sql.ref(order.id)}) ${beyond} (${last}, ${id}::uuid)`;
}
