import { type UseQueryResult, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { describeFailure } from "./failure.ts";
import { rolesWithPermission } from "./roles.ts";
import { type Permission, type Role, type SessionWorkspace, trpc, type Workspace } from "./trpc.ts";
import { useSessionChanges } from "./use-session-changes.ts";

export interface WorkspaceAccess {
  /** Whether the user is no longer a member, or the workspace was deleted. */
  readonly isLost: boolean;
  /** The current state of the workspace on the server. */
  readonly query: UseQueryResult<Workspace, unknown>;
  readonly role: Role;
  /**
   * Whether the user has a permission. Until the server has responded, the role in the session
   * decides.
   */
  readonly can: (permission: Permission) => boolean;
  /** The roles that have a permission. */
  readonly holders: (permission: Permission) => readonly Role[];
}

/**
 * What the user may do in a workspace. Also copies a name or role that someone else changed to the
 * cached session.
 */
export function useWorkspaceAccess(workspace: SessionWorkspace): WorkspaceAccess {
  const query = useQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id }));
  const { data: table } = useSuspenseQuery(
    trpc.instance.permissions.queryOptions(undefined, { staleTime: Infinity }),
  );
  const sessionChanges = useSessionChanges();
  const { id, name, role } = workspace;
  const latest = query.data;
  useEffect(() => {
    if (!latest || (latest.name === name && latest.role === role)) return;
    void sessionChanges.update(id, { name: latest.name, role: latest.role });
  }, [latest, id, name, role, sessionChanges]);
  return {
    isLost: query.error !== null && describeFailure(query.error).code === "FORBIDDEN",
    query,
    role: latest?.role ?? role,
    can: (permission) =>
      latest?.permissions.includes(permission) ?? rolesWithPermission(table, permission).includes(role),
    holders: (permission) => rolesWithPermission(table, permission),
  };
}
