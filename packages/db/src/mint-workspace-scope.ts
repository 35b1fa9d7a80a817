import type { WorkspaceId } from "./ids.ts";
import type { WorkspaceScope } from "./workspace-scope.ts";

/** Makes a scope. Lint lets `packages/auth` alone import this: there it follows a check. */
export function mintWorkspaceScope(workspaceId: WorkspaceId): WorkspaceScope {
  return { workspaceId } as WorkspaceScope; // The one place that may say so.
}
