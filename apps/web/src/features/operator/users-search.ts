import { parseListSearch, type TableSearch } from "../../ui/table-search.ts";
import { parseStatus, type StatusSearch } from "./status-filter.ts";

const orders = ["createdAt", "name", "email"] as const;
type UserOrder = (typeof orders)[number];
/** What the API sorts users by. */
export type UserSort = UserOrder | `-${UserOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultUserSort = "createdAt" satisfies UserSort;

/** The search part of the URL of the users of the instance. */
export interface UsersSearch extends Omit<TableSearch, "page">, StatusSearch {
  /** Only operators. */
  readonly role?: "operator";
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseUsersSearch(search: Record<string, unknown>): UsersSearch {
  const { role } = search;
  const table = parseListSearch(search, { orders, defaultSort: defaultUserSort });
  return {
    ...table,
    ...parseStatus(search),
    ...(role === "operator" && { role }),
  };
}
