import { listPermissions } from "@latchkey/auth/permissions";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { createWorkspace, getWorkspace, remove, update } from "../domain/workspaces.ts";
import { workspaceName } from "../fields.ts";
import { presentWorkspace } from "../presenters/workspace.ts";
import { newWorkspaceFields, workspaceFieldChanges } from "../workspace-fields.ts";
import { createRouter, originOf, sessionProcedure, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const workspacesRouter = createRouter({
  /** The workspace, the user's role in it, and the permissions of that role. */
  get: workspaceProcedure("workspace:read")
    .input(workspaceInput({}))
    .query(async ({ ctx: { read, access } }) => {
      const { scope, role } = access;
      const workspace = await read((db) => inWorkspace(db, scope, (trx) => getWorkspace(trx, scope)));
      return { ...presentWorkspace({ ...workspace, role }), permissions: listPermissions(role) };
    }),

  /** Creates a workspace whose first owner is the user. */
  create: sessionProcedure.input(z.strictObject(newWorkspaceFields)).mutation(async ({ ctx, input }) => {
    const workspace = { ...input, ownerId: ctx.user.id, origin: originOf(ctx, ctx.user.id) };
    const created = await ctx.transact((trx) => createWorkspace(trx, workspace, ctx.services.quotas));
    return presentWorkspace({ ...created, role: "owner" });
  }),

  /** `version` is the version that the user edited. */
  update: workspaceProcedure("workspace:update")
    .input(workspaceInput({ ...workspaceFieldChanges, version: z.int32().min(1) }))
    .mutation(async ({ ctx, input: { workspaceId: _id, version, ...fields } }) => {
      const change = { fields, versions: [version] };
      const updated = await ctx.transact((trx) => update(trx, ctx.edit, change));
      return presentWorkspace({ ...updated, role: ctx.access.role });
    }),

  /** The former name of `update`, for tabs that were opened before a deployment. */
  rename: workspaceProcedure("workspace:update")
    .input(workspaceInput({ name: workspaceName, version: z.int32().min(1) }))
    .mutation(async ({ ctx, input: { name, version } }) => {
      const change = { fields: { name }, versions: [version] };
      const updated = await ctx.transact((trx) => update(trx, ctx.edit, change));
      return presentWorkspace({ ...updated, role: ctx.access.role });
    }),

  delete: workspaceProcedure("workspace:delete")
    .input(workspaceInput({}))
    .mutation(async ({ ctx }) => {
      await ctx.transact((trx) => remove(trx, ctx.edit));
      return null;
    }),
});
