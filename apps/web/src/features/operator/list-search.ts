import { maxLength } from "@latchkey/limits";

/** The search part of the URL of a list of the instance. */
export interface ListSearch<Sort extends string> {
  readonly q?: string;
  /** Omitted for the default order. */
  readonly sort?: Sort;
}

/** Reads the search part of a URL, and drops what isn't valid. @param sorts the orders; the first one is the default. */
export function parseListSearch<Sort extends string>(
  search: Record<string, unknown>,
  sorts: readonly [Sort, ...Sort[]],
): ListSearch<Sort> {
  const sort = sorts.find((name) => name === search.sort);
  // `slice` can split a surrogate pair, and a URL can't contain a lone surrogate.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  return {
    ...(q.trim() !== "" && { q }),
    ...(sort !== undefined && sort !== sorts[0] && { sort }),
  };
}
