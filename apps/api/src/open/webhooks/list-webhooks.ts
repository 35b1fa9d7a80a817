import { listWebhooks as list } from "@latchkey/db/webhooks";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { presentWebhook, webhook } from "../../presenters/webhook.ts";
import { workspaceParams } from "../../schemas.ts";

export const listWebhooks = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/webhooks",
  operationId: "listWebhooks",
  summary: "List webhooks",
  description: "Lists the webhooks of a workspace, oldest first.",
  access: { workspace: "webhooks:manage" },
  request: { params: workspaceParams, query: listQuery(["createdAt", "url"]) },
  response: {
    status: 200,
    description: "The webhooks of the workspace, without their secrets.",
    schema: pageOf(webhook),
  },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const page = readPage(query);
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentWebhook, idOf: ({ id }) => id });
  },
});
