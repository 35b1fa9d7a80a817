import { changeIssuedKeyCredits } from "../domain/issued-key-credits.ts";
import { issuedKeyId, keyspaceId } from "../fields.ts";
import { creditChange } from "../issued-key-fields.ts";
import { presentIssuedKey } from "../presenters/issued-key.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const issuedKeyCreditsRouter = createRouter({
  /** Sets the balance of a key, or adds to or subtracts from it. */
  change: workspaceProcedure("keys:manage")
    .input(workspaceInput({ keyspaceId, id: issuedKeyId, change: creditChange }))
    .mutation(async ({ ctx, input: { keyspaceId, id, change } }) =>
      presentIssuedKey(
        await ctx.transact((trx) =>
          changeIssuedKeyCredits(trx, ctx.edit, { keyspaceId, id }, { ...change, versions: undefined }),
        ),
      ),
    ),
});
