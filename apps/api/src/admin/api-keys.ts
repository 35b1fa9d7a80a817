import { type ApiKey, summarizeApiKeys } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { createKey, deleteKey, listKeys, updateKey } from "../domain/api-keys.ts";
import { keyDescription, keyId, keyName, searchText } from "../fields.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

const maxPage = 100_000;

/** A signed-in person's own API keys. */
export const apiKeysRouter = createRouter({
  list: sessionProcedure
    .input(
      z.strictObject({
        search: searchText.default(""),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: z.union([z.literal(10), z.literal(25), z.literal(50), z.literal(100)]).default(25),
      }),
    )
    .query(async ({ ctx, input }) => {
      const { items, total } = await listKeys(ctx.instance.db, ctx.user.id, input);
      return { items: items.map(presentKey), total };
    }),

  summary: sessionProcedure.query(async ({ ctx }) => {
    const { keyCount, usageCount, lastUsedAt } = await summarizeApiKeys(ctx.instance.db, ctx.user.id);
    return { keyCount, usageCount, lastUsedAt: lastUsedAt?.toISOString() ?? null };
  }),

  /** The only answer that has the secret. */
  create: sessionProcedure
    .input(z.strictObject({ name: keyName, description: keyDescription.default("") }))
    .mutation(async ({ ctx, input }) => {
      const { id, secret } = await createKey(ctx.instance.db, { userId: ctx.user.id, ...input });
      return { id: encodeId("key", id), key: secret };
    }),

  update: sessionProcedure
    .input(z.strictObject({ id: keyId, name: keyName, description: keyDescription }))
    .mutation(async ({ ctx, input: { id, ...changes } }) => {
      return presentKey(await updateKey(ctx.instance.db, { userId: ctx.user.id, id }, changes));
    }),

  delete: sessionProcedure.input(z.strictObject({ id: keyId })).mutation(async ({ ctx, input }) => {
    await deleteKey(ctx.instance.db, { userId: ctx.user.id, id: input.id });
    return null;
  }),
});

function presentKey(key: ApiKey) {
  return {
    id: encodeId("key", key.id),
    name: key.name,
    description: key.description,
    start: key.start,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    usageCount: key.usageCount,
  };
}
