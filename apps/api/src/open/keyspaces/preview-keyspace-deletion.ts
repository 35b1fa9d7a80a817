import { maxExaminedKeys } from "@latchkey/db/keyspaces";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { previewKeyspaceDeletion as previewDeletion } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspaceParams, timestamp } from "../../schemas.ts";

const keyspaceDeletionPreview = z
  .object({
    keyCount: z.int().meta({ description: "The number of keys that are deleted.", example: 1_250 }),
    lastUsedAt: timestamp
      .nullable()
      .meta({ description: "When one of the keys was last used; null for never." }),
    isPartial: z.boolean().meta({
      description: `Whether only the newest ${maxExaminedKeys} keys were examined for their last use, because there are more.`,
      example: false,
    }),
  })
  .meta({ id: "KeyspaceDeletionPreview" });

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
  handle: async ({ params: { keyspaceId } }, { read, access: { scope } }) => {
    const { lastUsedAt, ...preview } = await read((db) =>
      inWorkspace(db, scope, (trx) => previewDeletion(trx, scope, keyspaceId)),
    );
    return { ...preview, lastUsedAt: lastUsedAt?.toISOString() ?? null };
  },
});
