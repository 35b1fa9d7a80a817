import { z } from "zod";
import { createKeyspace as create } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { newKeyspaceFields } from "../../keyspace-fields.ts";
import { keyspace, presentKeyspace } from "../../presenters/keyspace.ts";
import { workspaceParams } from "../../schemas.ts";

export const createKeyspace = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces",
  operationId: "createKeyspace",
  summary: "Create a keyspace",
  description:
    "Adds a named set of keys that the workspace issues to the consumers of its own API. The defaults apply to keys that are issued without a value of their own.",
  access: { workspace: "keyspaces:manage" },
  request: {
    params: workspaceParams,
    body: z
      .strictObject(newKeyspaceFields)
      .meta({ example: { name: "Production", prefix: "sk_live", environment: "production" } }),
  },
  response: {
    status: 201,
    description: "The new keyspace.",
    schema: keyspace,
    hasEtag: true,
  },
  errors: ["UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, access: { scope }, origin, services: { quotas } }) =>
    presentKeyspace(await transact((trx) => create(trx, { scope, origin }, body, quotas))),
});
