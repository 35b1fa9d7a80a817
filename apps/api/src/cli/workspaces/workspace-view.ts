import type { WorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentWorkspace } from "../../presenters/workspace.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A workspace in the command's JSON: as in the open API, with the numbers of people and service accounts instead of a role. */
export type PresentedSummary = ReturnType<typeof presentSummary>;

export function presentSummary(summary: WorkspaceSummary) {
  // The command has no role in the workspace.
  const { role: _role, ...shown } = presentWorkspace({ ...summary, role: "owner" });
  const { memberCount, serviceAccountCount } = summary;
  return { ...shown, memberCount, serviceAccountCount };
}

export const workspaceView: View<PresentedSummary> = [
  { label: "ID", text: ({ id }) => id },
  { label: "People", text: ({ memberCount }) => String(memberCount) },
  {
    label: "Service accounts",
    text: ({ serviceAccountCount }) => String(serviceAccountCount),
    isDetail: true,
  },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "Slug", text: ({ slug }) => slug },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "enabled") },
  { label: "Name", text: ({ name }) => name },
  {
    label: "Second factor",
    text: ({ requiresSecondFactor }) => (requiresSecondFactor ? "required" : "optional"),
    isDetail: true,
  },
  {
    label: "Audit log",
    text: ({ auditRetentionDays }) =>
      auditRetentionDays === null ? "kept forever" : `kept for ${auditRetentionDays} days`,
    isDetail: true,
  },
  { label: "Description", text: ({ description }) => description || "none", isDetail: true },
];
