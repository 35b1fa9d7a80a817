import { encodeId } from "@latchkey/db/ids";
import { type Invitation, invitationStatuses } from "@latchkey/db/invitations";
import { z } from "zod";
import { statusOf } from "../domain/invitation-status.ts";
import type { SentInvitation } from "../domain/invitations.ts";
import { role } from "../fields.ts";
import { secretStatus, shownEmail, shownId, shownPersonName, shownUrl, timestamp } from "../schemas.ts";

/** An invitation that nobody has accepted yet. */
export const invitation = z
  .object({
    id: shownId("invitation"),
    email: shownEmail,
    role: role.meta({ example: "member" }),
    status: z.enum(invitationStatuses).meta({
      description:
        "`invalid`: the user who sent it is disabled, has left the workspace, or can no longer grant the role. Sending an expired or invalid invitation again makes it valid.",
      example: "pending",
    }),
    invitedBy: z
      .object({ userId: shownId("user"), name: shownPersonName.meta({ example: "Ada Lovelace" }) })
      .nullable()
      .meta({ description: "The user who sent it last; null for the `latchkey` command." }),
    delivery: z.enum(["email", "link"]).meta({
      description: "`email`: the link is emailed to the person. `link`: you send it yourself.",
      example: "link",
    }),
    createdAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: "Invitation" });

/** An invitation that was just sent, with its link. */
export const sentInvitation = invitation
  .extend({
    url: shownUrl.optional().meta({
      description:
        "The link with which the person accepts the invitation, once. It is shown only in this response. Absent if `secretStatus` is `omitted`, as it always is if `delivery` is `email`.",
      example: "https://keys.example.com/invitation#uE6VtQHnZb8cS3xR1kWm5dLp0aYgJf7oTiNq2KzXvB4",
    }),
    secretStatus,
  })
  .meta({ id: "SentInvitation" });

export function presentInvitation(shown: Invitation): z.input<typeof invitation> {
  const { inviter } = shown;
  return {
    id: encodeId("invitation", shown.id),
    email: shown.email,
    role: shown.role,
    status: statusOf(shown),
    invitedBy: inviter && { userId: encodeId("user", inviter.userId), name: inviter.name },
    delivery: shown.isEmailed ? ("email" as const) : ("link" as const),
    createdAt: shown.createdAt.toISOString(),
    expiresAt: shown.expiresAt.toISOString(),
  };
}

export function presentSentInvitation({ invitation: sent, url }: SentInvitation) {
  return {
    ...presentInvitation(sent),
    ...(url !== undefined && { url }),
    secretStatus: url === undefined ? ("omitted" as const) : ("issued" as const),
  };
}
