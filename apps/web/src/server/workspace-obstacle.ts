import type { IssueCode } from "@latchkey/errors";
import { describeFailure, type FieldIssue } from "./failure.ts";

/** Why a member can't use a workspace at present. */
export type WorkspaceObstacle = Extract<IssueCode, "second_factor_required" | "workspace_disabled">;

/** Why the server rejected a call in a workspace; undefined for any other failure. */
export function findObstacle(error: unknown): WorkspaceObstacle | undefined {
  const issues: readonly (FieldIssue & { readonly code?: unknown })[] = describeFailure(error).issues;
  for (const { code } of issues)
    if (code === "second_factor_required" || code === "workspace_disabled") return code;
  return undefined;
}
