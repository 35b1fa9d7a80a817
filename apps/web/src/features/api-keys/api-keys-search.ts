import { isStatusFilter, type StatusFilter } from "../../ui/key-status.ts";
import { parseTableSearch, type TableSearch } from "../../ui/table-search.ts";

export const orders = ["name", "createdAt", "expiresAt", "lastUsedAt", "usageCount"] as const;
export type ApiKeyOrder = (typeof orders)[number];

export const defaultSort = "-createdAt";

/** The search part of the URL of the user's API keys. */
export interface ApiKeysSearch extends TableSearch {
  readonly status?: StatusFilter;
  /** Opens the dialog for a new key. */
  readonly dialog?: "new";
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseApiKeysSearch(search: Record<string, unknown>): ApiKeysSearch {
  const { status, dialog } = search;
  return {
    ...parseTableSearch(search, { orders, defaultSort }),
    ...(isStatusFilter(status) && { status }),
    ...(dialog === "new" && { dialog }),
  };
}

/** Converts the search to the input of the API. */
export function toQuery({ q, sort = defaultSort, page = 1, size = 25, status }: ApiKeysSearch) {
  return {
    ...(q !== undefined && { search: q }),
    ...(status && { status }),
    // The default order is omitted: the API reads it from an index.
    ...(sort !== defaultSort && {
      sort: sort.replace(/^-/, "") as ApiKeyOrder, // parseTableSearch accepts no other.
      direction: sort.startsWith("-") ? ("desc" as const) : ("asc" as const),
    }),
    page,
    pageSize: size,
  };
}
