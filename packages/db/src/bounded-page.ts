import { type RawBuilder, sql } from "kysely";
import { type ExaminedRows, isAfter, type Order, type Page, type Position, writePosition } from "./page.ts";
import type { WorkspaceTrx } from "./workspace-scope.ts";

/** How many rows a list examines at most for one page, if its filters have no index in the order of the page. */
export const maxExaminedRows = 10_000;

/** The same, if each row needs to be looked up in another table or by another index. */
const maxLookedUpRows = 1_000;

/** Beyond this number of matches, a filter is not applied before sorting. Sorting this many rows takes about 3 ms. */
const maxSortedRows = 1_000;

/** A list whose filters don't all have an index in the order of the page. All SQL calls the row `listed`. */
export interface BoundedList {
  readonly order: Order;
  /** The rows in an order that an index has, which `cut` consists of. Columns by which rows are filtered are included. */
  readonly rows: (cut: RawBuilder<unknown>) => RawBuilder<unknown>;
  /** Whether reading a row or checking a condition looks up a row by its ID, which takes several times as long. */
  readonly looksUpRows: boolean;
  /** The conditions of the filters that `rows` doesn't apply; empty for none. */
  readonly conditions: readonly RawBuilder<unknown>[];
  /** For filters that have an index of their own, IDs of matching rows in any order; the most selective one first. */
  readonly matching: readonly ((limit: number) => RawBuilder<{ id: string }>)[];
  /** The rows with some IDs, filtered by all conditions. */
  readonly chosen: (ids: readonly string[]) => RawBuilder<unknown>;
}

/** The IDs of the rows of a page. */
export interface FoundPage {
  readonly found: readonly { readonly id: string; readonly position: string }[];
  /** The row up to which the list was examined, if that was not enough to fill the page; there may be more after it. */
  readonly examinedTo: Position | undefined;
}

/**
 * Finds the rows of a page in bounded time, whatever matches the filters:
 * 1. If one of the filters matches few rows, these are filtered by the others and sorted.
 * 2. Otherwise, the rows are examined in the order of the page until it is full, but at most {@link maxExaminedRows}. The
 *    page can then be shorter than its limit, or empty, although there are more rows.
 */
export async function findBoundedPage(trx: WorkspaceTrx, list: BoundedList, page: Page): Promise<FoundPage> {
  for (const select of list.matching) {
    const { rows } = await select(maxSortedRows + 1).execute(trx);
    if (rows.length > maxSortedRows) continue;
    const chosen = list.chosen(rows.map(({ id }) => id));
    return { found: await readPage(trx, list.order, { rows: chosen, page }), examinedTo: undefined };
  }
  const isFiltered = list.conditions.length > 0;
  const maxRows = list.looksUpRows ? maxLookedUpRows : maxExaminedRows;
  const examined = isFiltered ? maxRows : page.limit;
  const window = list.rows(sql`${cutAfter(list.order, page)} ${sortBy(list.order, page)} limit ${examined}`);
  const isMatch = isFiltered ? sql`${sql.join(list.conditions, sql` and `)}` : sql`true`;
  const matching = sql`select listed.* from (${window}) listed where ${isMatch}`;
  const found = await readPage(trx, list.order, { rows: matching, page: { ...page, after: undefined } });
  if (!isFiltered || found.length === page.limit) return { found, examinedTo: undefined };
  return await readExamined(trx, list.order, { window, isMatch, page, examined });
}

/**
 * Reads the matches among the examined rows and the last examined row in one statement: between two, a row could be deleted, so
 * that the last one would be a row that was not examined.
 */
async function readExamined(
  trx: WorkspaceTrx,
  order: Order,
  options: {
    readonly window: RawBuilder<unknown>;
    readonly isMatch: RawBuilder<unknown>;
    readonly page: Page;
    readonly examined: number;
  },
): Promise<FoundPage> {
  const { window, isMatch, page, examined } = options;
  const select = (isLast: boolean) =>
    sql`listed.id, ${writePosition(order)} as position, ${isLast}::boolean as "isLast"`;
  const { rows } = await sql<{ id: string; position: string; isLast: boolean }>`
    with examined as materialized (${window})
    select * from (
      select ${select(false)} from examined listed where ${isMatch} ${sortBy(order, page)} limit ${page.limit}
    ) matches
    union all
    select * from (
      select ${select(true)} from examined listed ${sortBy(order, page)} offset ${examined - 1} limit 1
    ) last`.execute(trx);
  const found = rows.filter(({ isLast }) => !isLast).map(({ id, position }) => ({ id, position }));
  const last = rows.find(({ isLast }) => isLast);
  const isFull = found.length === page.limit;
  return { found, examinedTo: last && !isFull ? { id: last.id, value: last.position } : undefined };
}

/**
 * Adds the positions of a page to its rows, in the order of the page. A row that was deleted after it was found is left out; the
 * next page then begins after the last row that was found.
 */
export function attachRows<Row extends { readonly id: string }>(
  { found, examinedTo }: FoundPage,
  rows: readonly Row[],
  { limit }: Page,
): ExaminedRows<Row & { readonly position: string }> {
  const byId = new Map<string, Row>(rows.map((row) => [row.id, row]));
  const attached = found.flatMap(({ id, position }) => {
    const row = byId.get(id);
    return row ? [{ ...row, position }] : [];
  });
  const last = found.at(-1);
  const isIncomplete = attached.length < found.length && found.length === limit;
  return {
    rows: attached,
    examinedTo: isIncomplete && last ? { id: last.id, value: last.position } : examinedTo,
  };
}

async function readPage(
  trx: WorkspaceTrx,
  order: Order,
  { rows, page }: { readonly rows: RawBuilder<unknown>; readonly page: Page },
): Promise<{ id: string; position: string }[]> {
  const { rows: found } = await sql<{ id: string; position: string }>`
    select listed.id, ${writePosition(order)} as position from (${rows}) listed
    where true ${cutAfter(order, page)} ${sortBy(order, page)} limit ${page.limit}`.execute(trx);
  return found;
}

/** SQL that leaves out rows up to the end of the previous page, for the end of a list of conditions. */
function cutAfter(order: Order, { direction, after }: Page): RawBuilder<unknown> {
  return after ? sql`and ${isAfter(order, direction, after)}` : sql``;
}

function sortBy({ column, id }: Order, page: Page): RawBuilder<unknown> {
  const direction = sql.raw(page.direction);
  return sql`order by ${sql.ref(column)} ${direction}, ${sql.ref(id)} ${direction}`;
}
