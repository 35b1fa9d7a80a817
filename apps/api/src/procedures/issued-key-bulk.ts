import { changeIssuedKeys } from "../domain/issued-key-bulk.ts";
import { rotateKeys } from "../domain/issued-key-rotation.ts";
import { keyspaceId } from "../fields.ts";
import {
  bulkChange,
  bulkRotation,
  presentBulkResult,
  presentBulkRotation,
  readBulkChange,
  readBulkRotation,
} from "../issued-key-bulk-fields.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const issuedKeyBulkRouter = createRouter({
  /** Changes, enables, disables or deletes several keys. */
  change: workspaceProcedure("keys:manage")
    .input(workspaceInput({ keyspaceId, change: bulkChange }))
    .mutation(async ({ ctx, input: { keyspaceId, change } }) => {
      const bulk = { keyspaceId, ...readBulkChange(change), quotas: ctx.services.quotas };
      return presentBulkResult(await ctx.transact((trx) => changeIssuedKeys(trx, ctx.edit, bulk)));
    }),

  /** Rotates several keys. Only this response has their new secrets. */
  rotate: workspaceProcedure("keys:manage")
    .input(workspaceInput({ keyspaceId, rotation: bulkRotation }))
    .mutation(async ({ ctx, input: { keyspaceId, rotation } }) => {
      const bulk = { keyspaceId, ...readBulkRotation(rotation), quotas: ctx.services.quotas };
      return presentBulkRotation(await ctx.transact((trx) => rotateKeys(trx, ctx.edit, bulk)));
    }),
});
