import { encodeId } from "@latchkey/db/ids";
import type { WorkspaceSummary } from "../../domain/workspaces.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A workspace in the command's JSON: as in the open API, with the number of members instead of a role. */
export interface PresentedWorkspace {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly memberCount: number;
  readonly createdAt: string;
  readonly version: number;
}

export function presentWorkspace(workspace: WorkspaceSummary): PresentedWorkspace {
  return {
    id: encodeId("workspace", workspace.id),
    name: workspace.name,
    slug: workspace.slug,
    memberCount: workspace.memberCount,
    createdAt: workspace.createdAt.toISOString(),
    version: workspace.version,
  };
}

export const workspaceView: View<PresentedWorkspace> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Members", text: ({ memberCount }) => String(memberCount) },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "Slug", text: ({ slug }) => slug },
  { label: "Name", text: ({ name }) => name },
];
