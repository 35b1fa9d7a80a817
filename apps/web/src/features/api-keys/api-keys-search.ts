import { isStatusFilter, type StatusFilter } from "../../ui/key-status.ts";
import { parseTableSearch, type TableSearch } from "../../ui/table-search.ts";

export const orders = ["name", "createdAt", "expiresAt", "lastUsedAt", "usageCount"] as const;
export type ApiKeyOrder = (typeof orders)[number];

export const usualSort = "-createdAt";

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
    ...parseTableSearch(search, { orders, usualSort }),
    ...(isStatusFilter(status) && { status }),
    ...(dialog === "new" && { dialog }),
  };
}

/** The same as the input of the API. */
export function toQuery({ q, sort = usualSort, page = 1, size = 25, status }: ApiKeysSearch) {
  return {
    ...(q !== undefined && { search: q }),
    ...(status && { status }),
    // Without these, the API sorts like this, from an index.
    ...(sort !== usualSort && {
      sort: sort.replace(/^-/, "") as ApiKeyOrder, // The URL's reader accepts no other.
      direction: sort.startsWith("-") ? ("desc" as const) : ("asc" as const),
    }),
    page,
    pageSize: size,
  };
}
