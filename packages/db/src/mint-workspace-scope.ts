import type { WorkspaceId } from "./ids.ts";
import type { WorkspaceScope } from "./workspace-scope.ts";

/**
 * Makes a scope. Outside of this package lint lets `packages/auth` alone import this, where it follows a check, or opens
 * a workspace to the operator; in it, who makes a workspace has the scope of that one.
 */
export function mintWorkspaceScope(workspaceId: WorkspaceId): WorkspaceScope {
  return { workspaceId } as WorkspaceScope; // The one place that may say so.
}
