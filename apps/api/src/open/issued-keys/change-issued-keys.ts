import { changeIssuedKeys as change, maxWrittenPermissions } from "../../domain/issued-key-bulk.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { bulkChange, bulkResult, presentBulkResult, readBulkChange } from "../../issued-key-bulk-fields.ts";
import { keyspaceParams } from "../../schemas.ts";

export const changeIssuedKeys = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/bulk",
  operationId: "changeIssuedKeys",
  summary: "Change, enable, disable or delete several issued keys",
  description: `Changes, enables, disables or deletes all keys of one consumer, or up to 1,000 keys by their IDs, in one transaction. Takes effect on the next request. A key that doesn't exist doesn't prevent the change of the others. If no key has the external ID, you get 200 with empty lists. If the number of keys times the number of new \`permissions\` is greater than ${maxWrittenPermissions.toLocaleString("en-US")}, you get 400, and nothing is changed. Each changed key gets an event in the audit log.`,
  access: { workspace: "keys:manage" },
  request: { params: keyspaceParams, body: bulkChange },
  response: { status: 200, description: "What was done to each key.", schema: bulkResult },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId }, body }, { transact, access: { scope }, origin, services }) => {
    const bulk = { keyspaceId, ...readBulkChange(body), quotas: services.quotas };
    return presentBulkResult(await transact((trx) => change(trx, { scope, origin }, bulk)));
  },
});
