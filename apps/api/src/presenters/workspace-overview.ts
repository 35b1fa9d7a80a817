import { encodeId } from "@latchkey/db/ids";
import { maxCounted, type WorkspaceOverview } from "@latchkey/db/operator-workspaces";
import type { WorkspaceCounts } from "../domain/disabled-workspaces.ts";

/** A workspace as operators see it: no data of the tenant except its name and sizes. */
export function presentWorkspaceOverview(workspace: WorkspaceOverview) {
  return {
    id: encodeId("workspace", workspace.id),
    name: workspace.name,
    slug: workspace.slug,
    createdAt: workspace.createdAt.toISOString(),
    isDisabled: workspace.isDisabled,
    memberCount: workspace.memberCount,
    serviceAccountCount: workspace.serviceAccountCount,
    keyCount: presentCount(workspace.keyCount),
    auditEventCount: presentCount(workspace.auditEventCount),
    recentRequestCount: workspace.recentRequestCount,
  };
}

/** The numbers of members and keys of a workspace that is to be disabled or enabled. */
export function presentWorkspaceCounts(counts: WorkspaceCounts) {
  const { workspace } = counts;
  return {
    id: encodeId("workspace", workspace.id),
    name: workspace.name,
    slug: workspace.slug,
    isDisabled: workspace.disabledAt !== null,
    memberCount: counts.memberCount,
    serviceAccountCount: counts.serviceAccountCount,
    apiKeyCount: counts.apiKeyCount,
    issuedKeyCount: counts.issuedKeyCount,
  };
}

/** A count that stops at a maximum, which may then be less than the number of rows. */
function presentCount(count: number) {
  return { count, isMore: count >= maxCounted };
}
