import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { digestLink } from "../../domain/invitation-link.ts";
import { createInvitation as create, reissueLink } from "../../domain/invitations.ts";
import { email, role } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentSentInvitation, sentInvitation } from "../../presenters/invitation.ts";
import { workspaceParams } from "../../schemas.ts";

export const createInvitation = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/invitations",
  operationId: "createInvitation",
  summary: "Invite a person",
  description:
    "Creates a link with which a person joins the workspace, by signing in or signing up with this email address. The link works once and expires after seven days. If the instance sends email, the link is emailed, unless this address already got ten invitations within an hour. Otherwise, `delivery` is `link`: the link is in the response, and you send it. You can't grant a role with more permissions than your own. If the response is lost, send the request again with the same `Idempotency-Key`: while the invitation is pending, the response has a new link, and the former one is no longer valid.",
  access: { workspace: "members:invite" },
  request: {
    params: workspaceParams,
    body: z.strictObject({
      email: email.meta({
        description: "In any letter case.",
        example: "grace@example.com",
        format: "email",
        maxLength: maxLength.email,
        pattern: "^\\s*\\S+@\\S+\\s*$",
      }),
      role: role.meta({ example: "member" }),
    }),
  },
  response: {
    status: 201,
    description: "The new invitation, with its link if it isn't sent by email.",
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
  errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, access: { scope }, origin, services }) =>
    presentSentInvitation(await transact((trx) => create(trx, { scope, origin }, body, services))),
});
