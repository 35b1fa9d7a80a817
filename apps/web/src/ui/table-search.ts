import { maxLength } from "@latchkey/limits";

/** The largest page number that the API accepts. */
const pageMax = 10_000;

export const pageSizes = [10, 25, 50, 100] as const;
export type PageSize = (typeof pageSizes)[number];
export const defaultPageSize = 25 satisfies PageSize;

/** The state of a table in the URL of its page. Default values are absent. */
export interface TableSearch {
  readonly q?: string;
  /** What the list is sorted by; with a minus before it, in descending order. */
  readonly sort?: string;
  /** At least 2. */
  readonly page?: number;
  readonly size?: PageSize;
  /** The chosen columns, separated by commas; "none" for only the first column. */
  readonly columns?: string;
  /** The IDs of the selected rows, separated by commas. */
  readonly selected?: string;
}

interface TableOptions {
  /** The orders of the table's columns. */
  readonly orders: readonly string[];
  readonly defaultSort: string;
  /** 25 by default. */
  readonly defaultSize?: PageSize;
}

/** The page size of lists that grow at the end. The API uses it too if a call has none. */
export const listPageSize = 50 satisfies PageSize;

/** As many rows can be selected as the largest page has. */
export const maxSelected = 100;
const idList = /^[a-z0-9_]{1,40}(,[a-z0-9_]{1,40}){0,99}$/;

/** Parses the query string of a URL, and drops invalid values. */
export function parseTableSearch(
  search: Record<string, unknown>,
  { orders, defaultSort, defaultSize = defaultPageSize }: TableOptions,
): TableSearch {
  const size = pageSizes.find((pageSize) => String(pageSize) === String(search.size));
  const { sort, columns, selected } = search;
  // Truncation can leave half a surrogate pair at the end, which a URL can't contain.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  const isSort = typeof sort === "string" && orders.includes(sort.replace(/^-/, "")) && sort !== defaultSort;
  return {
    ...(q.trim() !== "" && { q }),
    ...(isSort && { sort }),
    ...parsePage(search),
    ...(size !== undefined && size !== defaultSize && { size }),
    ...(typeof columns === "string" && /^[a-zA-Z,]{1,200}$/.test(columns) && { columns }),
    ...(typeof selected === "string" && idList.test(selected) && { selected }),
  };
}

/** Parses the query string of a list that grows at its end, so that it has no page number. */
export function parseListSearch(
  search: Record<string, unknown>,
  options: Pick<TableOptions, "orders" | "defaultSort">,
): Omit<TableSearch, "page"> {
  const { page: _page, ...list } = parseTableSearch(search, { ...options, defaultSize: listPageSize });
  return list;
}

/** Parses the query string of a list that grows at its end, and whose rows can't be selected. */
export function parseUnselectableSearch(
  ...args: Parameters<typeof parseListSearch>
): Omit<TableSearch, "page" | "selected"> {
  const { selected: _selected, ...list } = parseListSearch(...args);
  return list;
}

/** The order of a log that is absent from the URL: newest first. */
export const defaultLogSort = "-occurredAt";

/** The state of the table of a log in the URL. */
export type LogTableSearch = Pick<TableSearch, "columns" | "size" | "sort">;

/** Parses the columns, the order and the page size of a log. */
export function parseLogTableSearch(search: Record<string, unknown>): LogTableSearch {
  const { columns, size, sort } = parseTableSearch(search, {
    orders: ["occurredAt"],
    defaultSort: defaultLogSort,
    defaultSize: listPageSize,
  });
  return {
    ...(columns !== undefined && { columns }),
    ...(size !== undefined && { size }),
    ...(sort !== undefined && { sort }),
  };
}

/** Parses the page number in a URL, and drops an invalid one. */
function parsePage(search: Record<string, unknown>): Pick<TableSearch, "page"> {
  const page = Math.min(Number(search.page), pageMax);
  return Number.isSafeInteger(page) && page > 1 ? { page } : {};
}

/** Returns the chosen columns; undefined for the default columns. */
export function readColumns({ columns }: TableSearch): readonly string[] | undefined {
  if (columns === undefined) return undefined;
  return columns === "none" ? [] : columns.split(",");
}

export function writeColumns(chosen: readonly string[] | undefined): string | undefined {
  if (chosen === undefined) return undefined;
  return chosen.length === 0 ? "none" : chosen.join(",");
}

/**
 * The order in the URL after a click on a column's header; undefined for the default order.
 * @param next The order that the header asks for; an empty text for the default order.
 * @param current The order in the URL.
 */
export function writeSort(
  next: string,
  current: string | undefined,
  defaultSort: string,
): string | undefined {
  // In the default order, restoring it would do nothing, so the header reverses it.
  const reversed = defaultSort.startsWith("-") ? defaultSort.slice(1) : `-${defaultSort}`;
  const sort = next || (current === undefined ? reversed : defaultSort);
  return sort === defaultSort ? undefined : sort;
}

export function readSelected({ selected }: TableSearch): ReadonlySet<string> {
  return new Set(selected?.split(","));
}

/** The IDs of the selected rows in the URL; undefined for none. Omits those beyond the maximum. */
export function writeSelected(ids: ReadonlySet<string>): string | undefined {
  return ids.size > 0 ? [...ids].slice(0, maxSelected).join(",") : undefined;
}

/** The number of the last page, at least 1. */
export function findLastPage(total: number, size: number): number {
  return Math.max(1, Math.ceil(total / size));
}
