import { isStatusFilter, type StatusFilter } from "../../../ui/key-status.ts";
import {
  listPageSize,
  parseListSearch,
  parseTableSearch,
  type TableSearch,
} from "../../../ui/table-search.ts";
import { defaultSort as defaultKeySort, orders as keyOrders } from "../api-keys-search.ts";

const orders = ["joinedAt", "name"] as const;
type ServiceAccountOrder = (typeof orders)[number];
/** What the API sorts service accounts by. */
export type ServiceAccountSort = ServiceAccountOrder | `-${ServiceAccountOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultServiceAccountSort = "joinedAt" satisfies ServiceAccountSort;

/** The search part of the URL of the service accounts of a workspace. */
export type ServiceAccountsSearch = Omit<TableSearch, "page">;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseServiceAccountsSearch(search: Record<string, unknown>): ServiceAccountsSearch {
  const table = parseListSearch(search, { orders, defaultSort: defaultServiceAccountSort });
  return table;
}

/** The search part of the URL of a service account, which has a table of its API keys. */
export interface ServiceAccountKeysSearch extends Omit<TableSearch, "selected"> {
  readonly status?: StatusFilter;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseServiceAccountKeysSearch(search: Record<string, unknown>): ServiceAccountKeysSearch {
  const { status } = search;
  const { selected: _selected, ...table } = parseTableSearch(search, {
    orders: keyOrders,
    defaultSort: defaultKeySort,
    defaultSize: listPageSize,
  });
  return { ...table, ...(isStatusFilter(status) && { status }) };
}
