import { inWorkspace } from "@latchkey/db/workspace-scope";
import { acceptOwnership, endTransfer, findPendingTransfer, offerOwnership } from "../domain/ownership.ts";
import { userId } from "../fields.ts";
import { presentMember } from "../presenters/member.ts";
import { presentOwnershipTransfer } from "../presenters/ownership-transfer.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const ownershipRouter = createRouter({
  /** The pending ownership transfer; null if there is none. */
  get: workspaceProcedure("members:read")
    .input(workspaceInput({}))
    .query(async ({ ctx: { read, access } }) => {
      const { scope } = access;
      const transfer = await read((db) => inWorkspace(db, scope, (trx) => findPendingTransfer(trx, scope)));
      return transfer ? presentOwnershipTransfer(transfer) : null;
    }),

  offer: workspaceProcedure("members:manage")
    .input(workspaceInput({ userId }))
    .mutation(async ({ ctx, input: { userId } }) =>
      presentOwnershipTransfer(await ctx.transact((trx) => offerOwnership(trx, ctx.edit, userId))),
    ),

  accept: workspaceProcedure("members:read")
    .input(workspaceInput({}))
    .mutation(async ({ ctx }) =>
      presentMember(await ctx.transact((trx) => acceptOwnership(trx, ctx.edit, ctx.services.quotas))),
    ),

  /** Withdraws or declines the pending transfer. */
  end: workspaceProcedure("members:read")
    .input(workspaceInput({}))
    .mutation(async ({ ctx }) => {
      await ctx.transact((trx) => endTransfer(trx, ctx.edit));
      return null;
    }),
});
