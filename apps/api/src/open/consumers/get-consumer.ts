import { inWorkspace } from "@latchkey/db/workspace-scope";
import { consumerParams } from "../../consumer-fields.ts";
import { getConsumer as get } from "../../domain/consumers.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { consumer, consumerUses, presentConsumer } from "../../presenters/consumer.ts";

export const getConsumer = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/consumers/:externalId",
  operationId: "getConsumer",
  summary: "Get a consumer",
  description:
    "Returns a consumer, with the number of its keys and their uses. The `ETag` covers the numbers of keys, but not `usageCount` and `lastUsedAt`; to read those, omit `If-None-Match`.",
  access: { workspace: "keys:read" },
  request: { params: consumerParams },
  response: {
    status: 200,
    description: "The consumer.",
    schema: consumer,
    hasEtag: true,
    notInEtag: consumerUses,
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId, externalId } }, { read, access: { scope } }) =>
    presentConsumer(
      await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, { keyspaceId, externalId }))),
    ),
});
