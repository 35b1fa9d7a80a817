import { parseUnselectableSearch, type TableSearch } from "../../ui/table-search.ts";
import { parseStatus, type StatusSearch } from "./status-filter.ts";

const orders = ["createdAt", "name", "slug", "memberCount", "keyCount"] as const;
type WorkspaceOrder = (typeof orders)[number];
/** What the API sorts workspaces by. */
export type WorkspaceSort = WorkspaceOrder | `-${WorkspaceOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultWorkspaceSort = "createdAt" satisfies WorkspaceSort;

/** The search part of the URL of the workspaces of the instance. */
export interface WorkspacesSearch extends Omit<TableSearch, "page" | "selected">, StatusSearch {}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseWorkspacesSearch(search: Record<string, unknown>): WorkspacesSearch {
  const table = parseUnselectableSearch(search, { orders, defaultSort: defaultWorkspaceSort });
  return { ...table, ...parseStatus(search) };
}
