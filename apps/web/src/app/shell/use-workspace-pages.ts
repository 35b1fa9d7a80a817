import { useSuspenseQuery } from "@tanstack/react-query";
import { rolesWithPermission } from "../../server/roles.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { type WorkspacePage, workspacePages } from "./pages.ts";

/** Returns a function that lists the pages of a workspace that the user's role in it may open. */
export function useWorkspacePages(): (workspace: SessionWorkspace) => readonly WorkspacePage[] {
  const { data: table } = useSuspenseQuery(
    trpc.instance.permissions.queryOptions(undefined, { staleTime: Infinity }),
  );
  const readers = rolesWithPermission(table, "audit:read");
  const managers = rolesWithPermission(table, "webhooks:manage");
  return ({ slug, role }) =>
    workspacePages(slug, { hasAuditLog: readers.includes(role), hasWebhooks: managers.includes(role) });
}
