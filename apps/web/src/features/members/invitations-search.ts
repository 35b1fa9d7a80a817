import { listPageSize, parseTableSearch, type TableSearch } from "../../ui/table-search.ts";

const orders = ["createdAt", "email"] as const;
type InvitationOrder = (typeof orders)[number];
/** What the API sorts invitations by. */
export type InvitationSort = InvitationOrder | `-${InvitationOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultInvitationSort = "createdAt" satisfies InvitationSort;

/** The search part of the URL of the invitations page. */
export type InvitationsSearch = Omit<TableSearch, "page" | "q">;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseInvitationsSearch(search: Record<string, unknown>): InvitationsSearch {
  const {
    page: _page,
    q: _q,
    ...table
  } = parseTableSearch(search, {
    orders,
    defaultSort: defaultInvitationSort,
    defaultSize: listPageSize,
  });
  return table;
}
