import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getKeyspaceImpact } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspaceDeletionPreview, presentKeyspaceImpact } from "../../presenters/keyspace.ts";
import { keyspaceParams } from "../../schemas.ts";

export const previewKeyspaceDeletion = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/deletion-preview",
  operationId: "previewKeyspaceDeletion",
  summary: "Preview the deletion of a keyspace",
  description:
    "Returns how many keys are deleted with the keyspace, how many of them work now, and when one was last used.",
  access: { workspace: "keyspaces:manage" },
  request: { params: keyspaceParams },
  response: { status: 200, description: "What the deletion affects.", schema: keyspaceDeletionPreview },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId } }, { read, access: { scope } }) =>
    presentKeyspaceImpact(
      await read((db) => inWorkspace(db, scope, (trx) => getKeyspaceImpact(trx, scope, keyspaceId))),
    ),
});
