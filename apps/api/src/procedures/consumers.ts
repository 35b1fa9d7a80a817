import { listConsumers } from "@latchkey/db/consumers";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { consumerChanges, consumersQuery } from "../consumer-fields.ts";
import { changeConsumer, getConsumer } from "../domain/consumers.ts";
import { getKeyspace } from "../domain/keyspaces.ts";
import { keyspaceId, searchText } from "../fields.ts";
import { externalId } from "../issued-key-fields.ts";
import { pageSize, readPage, toPage } from "../lists.ts";
import { presentConsumer } from "../presenters/consumer.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const { sort, cursor } = consumersQuery.shape;

/** The consumers that issued keys belong to. */
export const consumersRouter = createRouter({
  /** A page of the consumers of a keyspace. */
  list: workspaceProcedure("keys:read")
    .input(
      workspaceInput({
        keyspaceId,
        search: searchText.default(""),
        sort,
        cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const { keyspaceId, search } = input;
      const query = { ...input, limit: input.pageSize };
      const page = { ...readPage(query), keyspaceId, filter: { search } };
      const consumers = await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          await getKeyspace(trx, scope, keyspaceId);
          return await listConsumers(trx, scope, page);
        }),
      );
      const { data, nextCursor } = toPage(consumers, query, {
        present: presentConsumer,
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor };
    }),

  get: workspaceProcedure("keys:read")
    .input(workspaceInput({ keyspaceId, externalId }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId, externalId } }) => {
      const { scope } = access;
      return presentConsumer(
        await read((db) =>
          inWorkspace(db, scope, (trx) => getConsumer(trx, scope, { keyspaceId, externalId })),
        ),
      );
    }),

  /** `version` is the version that the user edited. */
  update: workspaceProcedure("keys:manage")
    .input(
      workspaceInput({
        keyspaceId,
        externalId,
        version: z.int32().min(1),
        changes: z.strictObject(consumerChanges),
      }),
    )
    .mutation(async ({ ctx, input: { keyspaceId, externalId, version, changes } }) => {
      const change = { ...changes, versions: [version] };
      return presentConsumer(
        await ctx.transact((trx) => changeConsumer(trx, ctx.edit, { keyspaceId, externalId }, change)),
      );
    }),
});
