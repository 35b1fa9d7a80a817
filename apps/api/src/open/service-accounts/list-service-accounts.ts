import { inWorkspace } from "@latchkey/db/workspace-scope";
import { listServiceAccounts as list } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { presentServiceAccount, serviceAccount } from "../../presenters/service-account.ts";
import { workspaceParams } from "../../schemas.ts";

export const listServiceAccounts = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/service-accounts",
  operationId: "listServiceAccounts",
  summary: "List service accounts",
  description: "Lists the service accounts of a workspace, oldest first.",
  access: { workspace: "members:read" },
  request: { params: workspaceParams, query: listQuery(["createdAt", "name"]) },
  response: { status: 200, description: "A page of service accounts.", schema: pageOf(serviceAccount) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const { sort, ...page } = readPage(query);
    const order = sort === "createdAt" ? "joinedAt" : sort;
    const rows = await read((db) =>
      inWorkspace(db, scope, (trx) => list(trx, scope, { ...page, sort: order })),
    );
    return toPage(rows, query, { present: presentServiceAccount, idOf: ({ userId }) => userId });
  },
});
