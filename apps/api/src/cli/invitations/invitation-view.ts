import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Invitation } from "@latchkey/db/invitations";
import type { SentInvitation } from "../../domain/invitations.ts";
import { presentInvitation } from "../../presenters/invitation.ts";
import { formatTime } from "../format.ts";
import { type ItemResult, itemOf, type View } from "../result.ts";

/** An invitation in the command's JSON: as in the open API, with the workspace. */
export type PresentedInvitation = ReturnType<typeof presentInvitationOf>;

export function presentInvitationOf(workspaceId: WorkspaceId, invitation: Invitation) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentInvitation(invitation) };
}

export const invitationView: View<PresentedInvitation> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "ID", text: ({ id }) => id },
  { label: "Role", text: ({ role }) => role },
  { label: "Status", text: ({ status }) => status },
  { label: "Expires", text: ({ expiresAt }) => formatTime(expiresAt) },
  { label: "Email", text: ({ email }) => email },
];

/** An invitation with its link, which only this result contains. */
export function sentInvitationResult(
  workspaceId: WorkspaceId,
  { invitation, url = "" }: SentInvitation,
): ItemResult {
  const sent = { ...presentInvitationOf(workspaceId, invitation), url };
  return itemOf(sent, [...invitationView, { label: "URL", text: (shown: typeof sent) => shown.url }]);
}
