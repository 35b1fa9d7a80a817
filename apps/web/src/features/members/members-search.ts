import { isRole } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";
import { parseListSearch, type TableSearch } from "../../ui/table-search.ts";

const orders = ["joinedAt", "name", "email"] as const;
type MemberOrder = (typeof orders)[number];
/** What the API sorts members by. */
export type MemberSort = MemberOrder | `-${MemberOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultSort = "joinedAt" satisfies MemberSort;

/** The search part of the URL of the members page. */
export interface MembersSearch extends TableSearch {
  readonly role?: Role;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseMembersSearch(search: Record<string, unknown>): MembersSearch {
  const { role } = search;
  const table = parseListSearch(search, { orders, defaultSort });
  return { ...table, ...(isRole(role) && { role }) };
}
