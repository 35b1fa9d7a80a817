import { type UseQueryResult, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { describeFailure } from "./failure.ts";
import { rolesHolding } from "./roles.ts";
import { type Permission, type Role, type SessionWorkspace, trpc, type Workspace } from "./trpc.ts";
import { useSessionChanges } from "./use-session-changes.ts";

interface WorkspaceAccess {
  /** Whether the person is no member any more, or the workspace is gone. */
  readonly isLost: boolean;
  /** The workspace as the server has it now. */
  readonly query: UseQueryResult<Workspace, unknown>;
  readonly role: Role;
  /** Whether the person's role allows something; as of sign-in until the server has answered. */
  readonly may: (permission: Permission) => boolean;
  /** The roles that allow something. */
  readonly holders: (permission: Permission) => readonly Role[];
}

/** What the person may do in a workspace. A name or role that somebody else changed reaches the frame by this too. */
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
    void sessionChanges.change(id, { name: latest.name, role: latest.role });
  }, [latest, id, name, role, sessionChanges]);
  return {
    isLost: query.error !== null && describeFailure(query.error).code === "FORBIDDEN",
    query,
    role: latest?.role ?? role,
    may: (permission) =>
      latest?.permissions.includes(permission) ?? rolesHolding(table, permission).includes(role),
    holders: (permission) => rolesHolding(table, permission),
  };
}
