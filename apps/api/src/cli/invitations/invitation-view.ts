import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Invitation } from "@latchkey/db/invitations";
import { presentInvitation } from "../../presenters/invitation.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

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
