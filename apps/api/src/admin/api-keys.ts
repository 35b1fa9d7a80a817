import { ownKeySorts, summarizeApiKeys } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import { keyStatuses } from "@latchkey/db/key-status";
import { z } from "zod";
import {
  createKey,
  deleteKey,
  endKeyOverlap,
  getKey,
  listKeys,
  rotateKey,
  updateKey,
} from "../domain/api-keys.ts";
import { keyDescription, keyId, keyName, searchText } from "../fields.ts";
import { keySettings, overlapSeconds, requestedExpiry } from "../key-fields.ts";
import { presentKey } from "../presenters/api-key.ts";
import { createRouter, originOf, sessionProcedure } from "./trpc.ts";

const maxPage = 100_000;

/** Restrictions of a key. An expiry may be a duration too, because a browser's clock may be wrong. */
const requestedSettings = z.strictObject({ ...keySettings, expiresAt: requestedExpiry.exactOptional() });

/** Changes one of the user's own keys. */
const keyProcedure = sessionProcedure.input(z.object({ id: keyId })).use(({ ctx, input, next }) => {
  const userId = ctx.user.id;
  const edit = { userId, id: input.id, origin: originOf(ctx, userId) };
  return next({ ctx: { ...ctx, edit } });
});

/** The input of a change of a key: its ID, which the procedure has already decoded, and further members. */
function keyInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ id: z.string(), ...shape });
}

/** The user's own API keys. */
export const apiKeysRouter = createRouter({
  list: sessionProcedure
    .input(
      z.strictObject({
        search: searchText.default(""),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: z.union([z.literal(10), z.literal(25), z.literal(50), z.literal(100)]).default(25),
        status: z.enum(keyStatuses).optional(),
        sort: z.enum(ownKeySorts).optional(),
        direction: z.enum(["asc", "desc"]).optional(),
      }),
    )
    .query(async ({ ctx, input }) => {
      const { items, total } = await ctx.read((db) => listKeys(db, ctx.user.id, input));
      return {
        items: items.map((key) => ({ ...presentKey(key), isRateLimited: key.isRateLimited })),
        total,
      };
    }),

  summary: sessionProcedure.query(async ({ ctx }) => {
    const { keyCount, usageCount, lastUsedAt } = await ctx.read((db) => summarizeApiKeys(db, ctx.user.id));
    return { keyCount, usageCount, lastUsedAt: lastUsedAt?.toISOString() ?? null };
  }),

  get: sessionProcedure.input(z.strictObject({ id: keyId })).query(async ({ ctx, input: { id } }) => {
    return presentKey(await ctx.read((db) => getKey(db, { userId: ctx.user.id, id })));
  }),

  /** The only response that contains the secret. */
  create: sessionProcedure
    .input(
      z.strictObject({
        name: keyName,
        description: keyDescription.default(""),
        settings: requestedSettings.default({}),
      }),
    )
    .mutation(async ({ ctx, input }) => {
      const key = { userId: ctx.user.id, origin: originOf(ctx, ctx.user.id), ...input };
      const { id, secret } = await ctx.transact((trx) => createKey(trx, key, ctx.instance.quotas));
      return { id: encodeId("key", id), key: secret };
    }),

  /**
   * `version` is the version that the user edited; without it, the edit applies to any version. Members that are left
   * out keep their value. An edit that expands the key's access is rejected with UNPROCESSABLE_CONTENT and an issue
   * per setting, unless `mayWiden` is true.
   */
  update: keyProcedure
    .input(
      keyInput({
        name: keyName.optional(),
        description: keyDescription.optional(),
        settings: requestedSettings.optional(),
        version: z.int32().min(1).optional(),
        mayWiden: z.boolean().default(false),
      }),
    )
    .mutation(async ({ ctx, input: { id: _id, version, mayWiden, ...changes } }) => {
      const change = {
        ...changes,
        mayExpand: mayWiden,
        versions: version === undefined ? undefined : [version],
      };
      return presentKey(await ctx.transact((trx) => updateKey(trx, ctx.edit, change, ctx.instance.quotas)));
    }),

  /** The only response that contains the new secret. */
  rotate: keyProcedure
    .input(keyInput({ overlapSeconds }))
    .mutation(async ({ ctx, input: { overlapSeconds } }) => {
      const { quotas } = ctx.instance;
      const { id, secret } = await ctx.transact((trx) => rotateKey(trx, ctx.edit, overlapSeconds, quotas));
      return { id: encodeId("key", id), key: secret };
    }),

  /** Ends the overlap of the key's former secrets. */
  endOverlap: keyProcedure
    .input(keyInput({}))
    .mutation(async ({ ctx }) => presentKey(await ctx.transact((trx) => endKeyOverlap(trx, ctx.edit)))),

  delete: keyProcedure.input(keyInput({})).mutation(async ({ ctx }) => {
    await ctx.transact((trx) => deleteKey(trx, ctx.edit));
    return null;
  }),
});
