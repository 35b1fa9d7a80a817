import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Member } from "@latchkey/db/members";
import { presentMember } from "../../presenters/member.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A member in the command's JSON: as in the open API, with the workspace. */
export type PresentedMember = ReturnType<typeof presentMemberOf>;

export function presentMemberOf(workspaceId: WorkspaceId, member: Member) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentMember(member) };
}

export const memberView: View<PresentedMember> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "User ID", text: ({ userId }) => userId },
  { label: "Role", text: ({ role }) => role },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "active") },
  { label: "Joined", text: ({ joinedAt }) => formatTime(joinedAt) },
  { label: "Kind", text: ({ kind }) => (kind === "person" ? "person" : "service account") },
  { label: "Email", text: ({ email }) => email ?? "none" },
  { label: "Name", text: ({ name }) => name },
];
