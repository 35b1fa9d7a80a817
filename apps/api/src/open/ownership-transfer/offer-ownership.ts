import { z } from "zod";
import { offerOwnership as offer } from "../../domain/ownership.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ownershipTransfer, presentOwnershipTransfer } from "../../presenters/ownership-transfer.ts";
import { userId, workspaceParams } from "../../schemas.ts";

export const offerOwnership = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/ownership-transfer",
  operationId: "offerOwnership",
  summary: "Offer ownership to a member",
  description:
    "Only an owner can offer ownership, with a key that allows everything that an owner may do. Nothing else changes until the member accepts, which is possible for seven days. The offer becomes void if you are no longer an owner, or if you or the member leave or are disabled.",
  access: { workspace: "members:manage" },
  request: {
    params: workspaceParams,
    body: z.strictObject({
      userId: userId.meta({ description: "The ID of the member who can accept ownership." }),
    }),
  },
  response: {
    status: 201,
    description: "The new ownership transfer, which the member can accept.",
    schema: ownershipTransfer,
  },
  errors: ["NOT_FOUND", "CONFLICT"],
  handle: async ({ body }, { transact, access: { scope }, origin }) =>
    presentOwnershipTransfer(await transact((trx) => offer(trx, { scope, origin }, body.userId))),
});
