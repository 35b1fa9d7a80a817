import { maxLength } from "@latchkey/limits";

/** The largest page number that the API accepts. */
const pageMax = 10_000;

export const pageSizes = [10, 25, 50, 100] as const;
export type PageSize = (typeof pageSizes)[number];
export const usualPageSize = 25 satisfies PageSize;

/** What the URL of a page with a table says about it; everything is absent where it is the default. */
export interface TableSearch {
  readonly q?: string;
  /** A column's order; with a minus before it, in descending order. */
  readonly sort?: string;
  /** From 2. */
  readonly page?: number;
  readonly size?: PageSize;
  /** The chosen columns, separated by commas; "none" for none but the first. */
  readonly columns?: string;
}

interface TableOptions {
  /** The orders of the table's columns. */
  readonly orders: readonly string[];
  readonly usualSort: string;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseTableSearch(
  search: Record<string, unknown>,
  { orders, usualSort }: TableOptions,
): TableSearch {
  const page = Math.min(Number(search.page), pageMax);
  const size = pageSizes.find((one) => String(one) === String(search.size));
  const { sort, columns } = search;
  // Cutting a text can leave half a surrogate pair at its end, which a URL can't contain.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  const isSort = typeof sort === "string" && orders.includes(sort.replace(/^-/, "")) && sort !== usualSort;
  return {
    ...(q.trim() !== "" && { q }),
    ...(isSort && { sort }),
    ...(Number.isSafeInteger(page) && page > 1 && { page }),
    ...(size !== undefined && size !== usualPageSize && { size }),
    ...(typeof columns === "string" && /^[a-zA-Z,]{1,200}$/.test(columns) && { columns }),
  };
}

/** The chosen columns; undefined for those that are shown by default. */
export function readColumns({ columns }: TableSearch): readonly string[] | undefined {
  if (columns === undefined) return undefined;
  return columns === "none" ? [] : columns.split(",");
}

export function writeColumns(chosen: readonly string[] | undefined): string | undefined {
  if (chosen === undefined) return undefined;
  return chosen.length === 0 ? "none" : chosen.join(",");
}

/** The number of the last page, at least 1. */
export function findLastPage(total: number, size: number): number {
  return Math.max(1, Math.ceil(total / size));
}
