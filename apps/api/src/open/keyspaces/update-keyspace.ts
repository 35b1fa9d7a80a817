import { z } from "zod";
import { changeKeyspace } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspaceChanges } from "../../keyspace-fields.ts";
import { keyspace, presentKeyspace } from "../../presenters/keyspace.ts";
import { keyspaceParams } from "../../schemas.ts";

const body = z.strictObject(keyspaceChanges).meta({
  example: { name: "Production", environment: "production" },
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const updateKeyspace = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId",
  operationId: "updateKeyspace",
  summary: "Update a keyspace",
  description:
    "Changes the fields that you send and keeps the others. `null` clears a field that can be empty. Disabling or enabling the keyspace takes effect on the next request, for all of its keys. The defaults and the prefix apply to keys that are issued afterwards. With `If-Match`, the request is rejected if the keyspace has changed since you read it.",
  access: { workspace: "keyspaces:manage" },
  request: { params: keyspaceParams, body, ifMatch: true },
  response: {
    status: 200,
    description: "The keyspace after the change.",
    schema: keyspace,
    hasEtag: true,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId }, body: changes },
    { transact, access: { scope }, origin, ifMatch },
  ) => {
    const change = { ...changes, versions: ifMatch };
    return presentKeyspace(
      await transact((trx) => changeKeyspace(trx, { scope, origin }, keyspaceId, change)),
    );
  },
});
