import type { Invitation } from "../../server/trpc.ts";
import { parseListSearch, type TableSearch } from "../../ui/table-search.ts";

const orders = ["createdAt", "email"] as const;
type InvitationOrder = (typeof orders)[number];
/** What the API sorts invitations by. */
export type InvitationSort = InvitationOrder | `-${InvitationOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultInvitationSort = "createdAt" satisfies InvitationSort;

type InvitationStatus = Invitation["status"];

// The labels are in `invitation-columns.tsx`, because every page loads this file.
const statuses: readonly InvitationStatus[] = ["pending", "expired", "invalid"];

/** The search part of the URL of the invitations page. */
export interface InvitationsSearch extends Omit<TableSearch, "page"> {
  readonly status?: InvitationStatus;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseInvitationsSearch(search: Record<string, unknown>): InvitationsSearch {
  const table = parseListSearch(search, { orders, defaultSort: defaultInvitationSort });
  const status = statuses.find((one) => one === search.status);
  return { ...table, ...(status && { status }) };
}
