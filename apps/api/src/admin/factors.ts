import { z } from "zod";
import {
  createNewRecoveryCodes,
  createTotp,
  disableTotp,
  enableTotp,
  findSecondFactors,
} from "../domain/second-factors.ts";
import { factorCode } from "../fields.ts";
import { accountProcedure } from "./account.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

/** The user's own second factors. */
export const factorsRouter = createRouter({
  get: sessionProcedure.query(async ({ ctx }) => {
    const { totpSince, recoveryCodeCount } = await ctx.read((db) => findSecondFactors(db, ctx.user.id));
    return { totpSince: totpSince?.toISOString() ?? null, recoveryCodeCount };
  }),

  /** Creates the secret of an authenticator app, which has no effect until `enableTotp`. */
  createTotp: accountProcedure.mutation(async ({ ctx }) => {
    const { instance, edit, user } = ctx;
    return await ctx.transact((trx) => createTotp(trx, instance, { ...edit, email: user.email }));
  }),

  /** Returns recovery codes with the first second factor; null otherwise. */
  enableTotp: accountProcedure
    .input(z.strictObject({ code: factorCode }))
    .mutation(async ({ ctx, input: { code } }) => {
      const codes = await ctx.transact((trx) => enableTotp(trx, ctx.instance, ctx.edit, code));
      return { recoveryCodes: codes ?? null };
    }),

  disableTotp: accountProcedure.mutation(async ({ ctx }) => {
    await ctx.transact((trx) => disableTotp(trx, ctx.edit));
    return null;
  }),

  /** Replaces the recovery codes. */
  createRecoveryCodes: accountProcedure.mutation(async ({ ctx }) => {
    const codes = await ctx.transact((trx) => createNewRecoveryCodes(trx, ctx.instance, ctx.edit));
    return { recoveryCodes: codes };
  }),
});
