import { countKeyspaces, keyspaceStatuses, listKeyspaces } from "@latchkey/db/keyspaces";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import {
  changeKeyspace,
  createKeyspace,
  deleteKeyspace,
  getKeyspace,
  getKeyspaceImpact,
} from "../domain/keyspaces.ts";
import { keyspaceId, searchText } from "../fields.ts";
import { keyspaceChanges, newKeyspaceFields } from "../keyspace-fields.ts";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import { presentKeyspace, presentKeyspaceImpact } from "../presenters/keyspace.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const order = listQuery(["createdAt", "name"]).shape;

const reading = workspaceProcedure("keyspaces:read");
const managing = workspaceProcedure("keyspaces:manage");

const impact = managing
  .input(workspaceInput({ keyspaceId }))
  .query(async ({ ctx: { read, access }, input: { keyspaceId } }) => {
    const { scope } = access;
    return presentKeyspaceImpact(
      await read((db) => inWorkspace(db, scope, (trx) => getKeyspaceImpact(trx, scope, keyspaceId))),
    );
  });

/** The keyspaces of a workspace. */
export const keyspacesRouter = createRouter({
  /** A page of the keyspaces, and the number of matches. */
  list: reading
    .input(
      workspaceInput({
        search: searchText.default(""),
        status: z.enum(keyspaceStatuses).optional(),
        sort: order.sort,
        cursor: order.cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const { search, status } = input;
      const query = { ...input, limit: input.pageSize };
      const filter = { search, status };
      const page = { ...readPage(query), filter };
      const { rows, total } = await read((db) =>
        inWorkspace(db, scope, async (trx) => ({
          rows: await listKeyspaces(trx, scope, page),
          total: await countKeyspaces(trx, scope, filter),
        })),
      );
      const { data, nextCursor } = toPage(rows, query, { present: presentKeyspace, idOf: ({ id }) => id });
      return { items: data, nextCursor, total };
    }),

  get: reading
    .input(workspaceInput({ keyspaceId }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId } }) => {
      const { scope } = access;
      return presentKeyspace(
        await read((db) => inWorkspace(db, scope, (trx) => getKeyspace(trx, scope, keyspaceId))),
      );
    }),

  create: managing
    .input(workspaceInput({ fields: z.strictObject(newKeyspaceFields) }))
    .mutation(async ({ ctx, input: { fields } }) =>
      presentKeyspace(
        await ctx.transact((trx) => createKeyspace(trx, ctx.edit, fields, ctx.services.quotas)),
      ),
    ),

  /** `version` is the version that the user edited. */
  update: managing
    .input(
      workspaceInput({ keyspaceId, version: z.int32().min(1), changes: z.strictObject(keyspaceChanges) }),
    )
    .mutation(async ({ ctx, input: { keyspaceId, version, changes } }) => {
      const change = { ...changes, versions: [version] };
      return presentKeyspace(await ctx.transact((trx) => changeKeyspace(trx, ctx.edit, keyspaceId, change)));
    }),

  /** How many keys stop working if the keyspace is deleted or disabled, and when one was last used. */
  impact,
  /** The former name, which the web app calls until the previous release supports the new one. */
  previewDeletion: impact,

  delete: managing.input(workspaceInput({ keyspaceId })).mutation(async ({ ctx, input: { keyspaceId } }) => {
    await ctx.transact((trx) => deleteKeyspace(trx, ctx.edit, keyspaceId, undefined));
    return null;
  }),
});
