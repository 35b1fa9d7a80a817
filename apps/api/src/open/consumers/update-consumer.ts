import { z } from "zod";
import { consumerChanges, consumerParams } from "../../consumer-fields.ts";
import { changeConsumer } from "../../domain/consumers.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { consumer, consumerUses, presentConsumer } from "../../presenters/consumer.ts";

const body = z.strictObject(consumerChanges).meta({
  // A high quota, so that no verification is rejected if someone sends the example from the reference page.
  example: { limits: [{ name: "requests", quota: 1_000_000, windowSeconds: 60 }] },
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const updateConsumer = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/consumers/:externalId",
  operationId: "updateConsumer",
  summary: "Update a consumer",
  description:
    "Changes the limits that all keys of the consumer share. Takes effect on the next verification. What was spent in the open window of a limit stays spent as long as the limit keeps its name. With `If-Match`, the request is rejected if the consumer has changed since you read it.",
  access: { workspace: "keys:manage" },
  request: { params: consumerParams, body, ifMatch: true },
  response: {
    status: 200,
    description: "The consumer after the change.",
    schema: consumer,
    hasEtag: true,
    notInEtag: consumerUses,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId, externalId }, body: changes },
    { transact, access: { scope }, origin, ifMatch },
  ) => {
    const change = { ...changes, versions: ifMatch };
    return presentConsumer(
      await transact((trx) => changeConsumer(trx, { scope, origin }, { keyspaceId, externalId }, change)),
    );
  },
});
