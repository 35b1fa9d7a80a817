import { changeIssuedKeys } from "../domain/issued-key-bulk.ts";
import { keyspaceId } from "../fields.ts";
import { bulkChange, presentBulkResult, readBulkChange } from "../issued-key-bulk-fields.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const issuedKeyBulkRouter = createRouter({
  /** Changes, enables, disables or deletes several keys. */
  change: workspaceProcedure("keys:manage")
    .input(workspaceInput({ keyspaceId, change: bulkChange }))
    .mutation(async ({ ctx, input: { keyspaceId, change } }) => {
      const bulk = { keyspaceId, ...readBulkChange(change) };
      return presentBulkResult(await ctx.transact((trx) => changeIssuedKeys(trx, ctx.edit, bulk)));
    }),
});
