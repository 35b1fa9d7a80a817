import { inWorkspace } from "@latchkey/db/workspace-scope";
import { listRejections } from "../../domain/keyspace-usage.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKeyRejections, presentIssuedKeyRejection } from "../../presenters/keyspace-usage.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const listIssuedKeyRejections = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId/rejections",
  operationId: "listIssuedKeyRejections",
  summary: "List rejected verifications of an issued key",
  description:
    "Returns the latest rejected verifications of a key, at most 100, newest first. These statistics are about a second behind.",
  access: { workspace: "keys:read" },
  request: { params: issuedKeyParams },
  response: { status: 200, description: "The rejected verifications.", schema: issuedKeyRejections },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId, issuedKeyId: id } }, { read, access: { scope } }) => {
    const rows = await read((db) =>
      inWorkspace(db, scope, (trx) => listRejections(trx, scope, { keyspaceId, id })),
    );
    return { data: rows.map(presentIssuedKeyRejection) };
  },
});
