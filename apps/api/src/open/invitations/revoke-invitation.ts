import { revokeInvitation as revoke } from "../../domain/invitations.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { invitationParams } from "../../schemas.ts";

export const revokeInvitation = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/invitations/:invitationId",
  operationId: "revokeInvitation",
  summary: "Revoke an invitation",
  description:
    "Deletes the invitation. Its link is no longer valid. Without the permission `members:manage`, you can revoke only your own invitations. You, and your key if it is restricted, need every permission of the invitation's role.",
  access: { workspace: "members:invite" },
  request: { params: invitationParams },
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { invitationId } }, { transact, access: { scope }, origin }) => {
    await transact((trx) => revoke(trx, { scope, origin }, invitationId));
    return undefined;
  },
});
