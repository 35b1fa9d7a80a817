import { auditFilterInput } from "../../audit-filter.ts";
import { auditTargetId, userId } from "../../schemas.ts";

/** The parameters that filter an audit log. */
export const auditFilterQuery = {
  action: auditFilterInput.action.meta({ description: "Only events with this action." }),
  actorId: userId.optional().meta({ description: "Only changes made by this user." }),
  targetId: auditTargetId.optional().meta({
    description:
      "Only changes to this user, API key, invitation, webhook, keyspace, issued key, consumer (its `id`, not its `externalId`) or workspace.",
  }),
  from: auditFilterInput.from.meta({
    description: "Only changes at this time or later.",
    example: "2026-03-01T00:00:00Z",
  }),
  to: auditFilterInput.to.meta({
    description: "Only changes before this time.",
    example: "2026-04-01T00:00:00Z",
  }),
};
