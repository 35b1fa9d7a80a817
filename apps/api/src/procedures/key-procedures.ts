import { z } from "zod";
import type { KeyEdit } from "../domain/lock-api-key.ts";
import { findManagedKeyOwner, requireKeyManager } from "../domain/service-accounts.ts";
import { keyId } from "../fields.ts";
import { originOf, sessionProcedure } from "./trpc.ts";

/** Reads about one of the user's own keys, or a key of a service account whose keys the user may see. */
export const readableKeyProcedure = sessionProcedure
  .input(z.object({ id: keyId }))
  .use(async ({ ctx, input: { id }, next }) => {
    const caller = { userId: ctx.user.id, keyId: id, hasSecondFactor: ctx.hasSecondFactor };
    const owner = await ctx.read((db) => findManagedKeyOwner(db, caller, "api-keys:read"));
    return await next({ ctx: { ...ctx, keyId: id, owner } });
  });

/** Changes one of the user's own keys, or a key of a service account that the user may manage. */
export const managedKeyProcedure = sessionProcedure
  .input(z.object({ id: keyId }))
  .use(async ({ ctx, input: { id }, next }) => {
    const caller = { userId: ctx.user.id, keyId: id, hasSecondFactor: ctx.hasSecondFactor };
    const owner = await ctx.read((db) => findManagedKeyOwner(db, caller, "members:manage"));
    const origin = originOf(ctx, ctx.user.id);
    const edit: KeyEdit = { userId: owner.userId, id, origin };
    const { serviceAccount } = owner;
    const transact: typeof ctx.transact = (work) =>
      ctx.transact(async (trx) => {
        // The role may have changed since the check above.
        if (serviceAccount)
          await requireKeyManager(trx, { scope: serviceAccount.scope, origin }, owner.userId);
        return await work(trx);
      });
    return await next({ ctx: { ...ctx, transact, owner, edit } });
  });

/** The input of a change to a key: its ID, which the procedure has already decoded, and further fields. */
export function keyInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ id: z.string(), ...shape });
}
