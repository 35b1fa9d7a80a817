import type { WorkspaceId } from "./ids.ts";
import type { WorkspaceScope } from "./workspace-scope.ts";

/**
 * Creates a scope. Outside this package, a lint rule lets only `packages/auth` import this function. There, it is
 * called after a check, or to open a workspace to the operator. In this package, `insertWorkspace` calls it for the
 * workspace that it creates, `deleteExpired` to delete expired audit events, `createFairPurge` to delete rows that can't be read any
 * more, and `addKeyNotices` to find the owners and admins who get a notice.
 */
export function mintWorkspaceScope(workspaceId: WorkspaceId): WorkspaceScope {
  return { workspaceId } as WorkspaceScope; // Only this function may create one.
}
