import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import {
  addPasskey,
  changePasskeyName,
  removePasskey,
  startPasskeyRegistration,
} from "../domain/passkeys.ts";
import {
  createNewRecoveryCodes,
  createTotp,
  disableTotp,
  enableTotp,
  findSecondFactors,
} from "../domain/second-factors.ts";
import { factorCode, passkeyId, passkeyName } from "../fields.ts";
import { registrationResponse } from "../passkey-fields.ts";
import { accountProcedure } from "./account-procedure.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

/** The user's own second factors. */
export const factorsRouter = createRouter({
  get: sessionProcedure.query(async ({ ctx }) => {
    const factors = await ctx.read((db) => findSecondFactors(db, ctx.user.id));
    return {
      totpSince: factors.totpSince?.toISOString() ?? null,
      recoveryCodeCount: factors.recoveryCodeCount,
      passkeys: factors.passkeys.map(({ id, name, createdAt, lastUsedAt }) => ({
        id: encodeId("passkey", id),
        name,
        createdAt: createdAt.toISOString(),
        lastUsedAt: lastUsedAt?.toISOString() ?? null,
      })),
    };
  }),

  /** What the browser needs to create a passkey. */
  startPasskey: accountProcedure.mutation(
    async ({ ctx }) => await startPasskeyRegistration(ctx.services, { ...ctx, origin: ctx.edit.origin }),
  ),

  /** Returns recovery codes with the first second factor; null otherwise. */
  addPasskey: accountProcedure
    .input(z.strictObject({ name: passkeyName, response: registrationResponse }))
    .mutation(async ({ ctx, input }) => {
      const codes = await addPasskey(ctx.services, { ...ctx, origin: ctx.edit.origin }, input);
      return { recoveryCodes: codes ?? null };
    }),

  renamePasskey: accountProcedure
    .input(z.strictObject({ id: passkeyId, name: passkeyName }))
    .mutation(async ({ ctx, input }) => {
      await ctx.transact((trx) => changePasskeyName(trx, ctx.edit, input));
      return null;
    }),

  removePasskey: accountProcedure
    .input(z.strictObject({ id: passkeyId }))
    .mutation(async ({ ctx, input: { id } }) => {
      await ctx.transact((trx) => removePasskey(trx, ctx.edit, id));
      return null;
    }),

  /** Creates the secret of an authenticator app, which has no effect until `enableTotp`. */
  createTotp: accountProcedure.mutation(async ({ ctx }) => {
    const { services, edit, user } = ctx;
    return await ctx.transact((trx) => createTotp(trx, services, { ...edit, email: user.email }));
  }),

  /** Returns recovery codes with the first second factor; null otherwise. */
  enableTotp: accountProcedure
    .input(z.strictObject({ code: factorCode }))
    .mutation(async ({ ctx, input: { code } }) => {
      const codes = await ctx.transact((trx) => enableTotp(trx, ctx.services, ctx.edit, code));
      return { recoveryCodes: codes ?? null };
    }),

  disableTotp: accountProcedure.mutation(async ({ ctx }) => {
    await ctx.transact((trx) => disableTotp(trx, ctx.edit));
    return null;
  }),

  /** Replaces the recovery codes. */
  createRecoveryCodes: accountProcedure.mutation(async ({ ctx }) => {
    const codes = await ctx.transact((trx) => createNewRecoveryCodes(trx, ctx.services, ctx.edit));
    return { recoveryCodes: codes };
  }),
});
