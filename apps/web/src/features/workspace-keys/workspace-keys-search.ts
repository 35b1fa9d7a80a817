import { isWorkspaceStatusFilter, type WorkspaceStatusFilter } from "../../ui/key-status.ts";
import { parseTableSearch, type TableSearch } from "../../ui/table-search.ts";

export const orders = ["name", "owner", "createdAt", "expiresAt", "lastUsedAt", "recentUses"] as const;
export type WorkspaceKeyOrder = (typeof orders)[number];

export const defaultSort = "-createdAt";

/** The search part of the URL of a workspace's API keys. */
export interface WorkspaceKeysSearch extends TableSearch {
  readonly status?: WorkspaceStatusFilter;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseWorkspaceKeysSearch(search: Record<string, unknown>): WorkspaceKeysSearch {
  const { status } = search;
  return {
    ...parseTableSearch(search, { orders, defaultSort }),
    ...(isWorkspaceStatusFilter(status) && { status }),
  };
}

/** Converts the search to the input of the API. */
export function toQuery({ q, sort = defaultSort, page, size, status }: WorkspaceKeysSearch) {
  return {
    ...(q !== undefined && { search: q }),
    ...(status && { status }),
    sort: sort.replace(/^-/, "") as WorkspaceKeyOrder, // parseTableSearch accepts no other.
    direction: sort.startsWith("-") ? ("desc" as const) : ("asc" as const),
    ...(page !== undefined && { page }),
    ...(size !== undefined && { pageSize: size }),
  };
}
