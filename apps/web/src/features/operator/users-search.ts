import { maxLength } from "@latchkey/limits";

export type UserSort = "createdAt" | "-createdAt" | "name" | "-name" | "email" | "-email";

/** The default order, which is omitted from the URL. */
export const defaultSort = "createdAt" satisfies UserSort;

const sorts: ReadonlySet<unknown> = new Set<UserSort>([
  "createdAt",
  "-createdAt",
  "name",
  "-name",
  "email",
  "-email",
]);

/** The search part of the URL of the users of the instance. */
export interface UsersSearch {
  readonly q?: string;
  readonly sort?: UserSort;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseUsersSearch(search: Record<string, unknown>): UsersSearch {
  const { sort } = search;
  // `slice` can split a surrogate pair, and a URL can't contain a lone surrogate.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  return {
    ...(q.trim() !== "" && { q }),
    ...(isUserSort(sort) && sort !== defaultSort && { sort }),
  };
}

export function isUserSort(text: unknown): text is UserSort {
  return sorts.has(text);
}
