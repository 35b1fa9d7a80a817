import { inWorkspace } from "@latchkey/db/workspace-scope";
import { previewKeyspaceDeletion as previewDeletion } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspaceDeletionPreview, presentKeyspaceDeletion } from "../../presenters/keyspace.ts";
import { keyspaceParams } from "../../schemas.ts";

export const previewKeyspaceDeletion = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/deletion-preview",
  operationId: "previewKeyspaceDeletion",
  summary: "Preview the deletion of a keyspace",
  description: "Returns how many keys stop working if the keyspace is deleted, and when one was last used.",
  access: { workspace: "keyspaces:manage" },
  request: { params: keyspaceParams },
  response: { status: 200, description: "What the deletion affects.", schema: keyspaceDeletionPreview },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId } }, { read, access: { scope } }) =>
    presentKeyspaceDeletion(
      await read((db) => inWorkspace(db, scope, (trx) => previewDeletion(trx, scope, keyspaceId))),
    ),
});
