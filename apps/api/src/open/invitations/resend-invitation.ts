import { digestLink } from "../../domain/invitation-link.ts";
import { reissueLink, resendInvitation as resend } from "../../domain/invitations.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentSentInvitation, sentInvitation } from "../../presenters/invitation.ts";
import { invitationParams } from "../../schemas.ts";

export const resendInvitation = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/invitations/:invitationId/resend",
  operationId: "resendInvitation",
  summary: "Send an invitation again",
  description:
    "Creates a new link, which is valid for seven days. If the instance sends email, the link is emailed, unless this address already got ten invitations within an hour. Otherwise, `delivery` is `link`: the link is in the response, and you send it. The old link stops working, and you become the inviter. Without the permission `members:manage`, you can send only your own invitations again. You, and your key if it is restricted, need every permission of the invitation's role.",
  access: { workspace: "members:invite" },
  request: { params: invitationParams },
  response: {
    status: 200,
    description: "The invitation, with its new link if it isn't sent by email.",
    schema: sentInvitation,
  },
  secret: {
    member: "url",
    digest: digestLink,
    reissue: async (_request, { access: { scope }, origin, services }, { trx, hash }) => {
      const sent = await reissueLink(trx, { scope, origin }, hash, services);
      return sent && presentSentInvitation(sent);
    },
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { invitationId } }, { transact, access: { scope }, origin, services }) =>
    presentSentInvitation(await transact((trx) => resend(trx, { scope, origin }, invitationId, services))),
});
