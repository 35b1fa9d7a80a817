import { ownKeySorts } from "@latchkey/db/api-key-search";
import { encodeId } from "@latchkey/db/ids";
import { keyStatuses } from "@latchkey/db/key-status";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { createKey } from "../domain/api-key-edits.ts";
import { listKeys } from "../domain/api-keys.ts";
import {
  changeServiceAccount,
  createServiceAccount,
  deleteServiceAccount,
  getServiceAccount,
  requireKeyManager,
} from "../domain/service-accounts.ts";
import {
  keyDescription,
  keyName,
  searchText,
  serviceAccountName,
  serviceAccountRole,
  userId,
} from "../fields.ts";
import { requestedSettings } from "../key-fields.ts";
import { pageSize } from "../lists.ts";
import { presentManagedKey } from "../presenters/api-key.ts";
import { presentServiceAccount } from "../presenters/service-account.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const maxPage = 10_000;

/** The service accounts of a workspace. `members.list` lists them too, with `kind`. */
export const serviceAccountsRouter = createRouter({
  get: workspaceProcedure("members:read")
    .input(workspaceInput({ userId }))
    .query(async ({ ctx: { read, access }, input: { userId } }) => {
      const { scope } = access;
      return presentServiceAccount(
        await read((db) => inWorkspace(db, scope, (trx) => getServiceAccount(trx, scope, userId))),
      );
    }),

  create: workspaceProcedure("members:manage")
    .input(workspaceInput({ name: serviceAccountName, role: serviceAccountRole }))
    .mutation(async ({ ctx, input: { name, role } }) => {
      const { quotas } = ctx.services;
      const account = { name, role };
      return presentServiceAccount(
        await ctx.transact((trx) => createServiceAccount(trx, ctx.edit, account, quotas)),
      );
    }),

  /** `version` is the version that the user edited. Fields that are left out keep their value. */
  change: workspaceProcedure("members:manage")
    .input(
      workspaceInput({
        userId,
        name: serviceAccountName.optional(),
        role: serviceAccountRole.optional(),
        isDisabled: z.boolean().optional(),
        version: z.int32().min(1).optional(),
      }),
    )
    .mutation(async ({ ctx, input: { workspaceId: _workspaceId, version, ...changes } }) => {
      const change = { ...changes, versions: version === undefined ? undefined : [version] };
      return presentServiceAccount(await ctx.transact((trx) => changeServiceAccount(trx, ctx.edit, change)));
    }),

  /** A page of the API keys of a service account, newest first by default. */
  keys: workspaceProcedure("api-keys:read")
    .input(
      workspaceInput({
        userId,
        search: searchText.default(""),
        status: z.enum(keyStatuses).optional(),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: pageSize.default(50),
        sort: z.enum(ownKeySorts).optional(),
        direction: z.enum(["asc", "desc"]).optional(),
      }),
    )
    .query(async ({ ctx: { read, access }, input: { userId, workspaceId: _workspaceId, ...page } }) => {
      const { scope } = access;
      const { account, items, total } = await read(async (db) => {
        const account = await inWorkspace(db, scope, (trx) => getServiceAccount(trx, scope, userId));
        return { account, ...(await listKeys(db, userId, page)) };
      });
      const { name, isDisabled } = account;
      const owner = { userId, serviceAccount: { name, isDisabled, scope } };
      return { items: items.map((key) => presentManagedKey(key, owner)), total };
    }),

  /** The only response that contains the secret. */
  createKey: workspaceProcedure("members:manage")
    .input(
      workspaceInput({
        userId,
        name: keyName,
        description: keyDescription.default(""),
        settings: requestedSettings.default({}),
      }),
    )
    .mutation(async ({ ctx, input: { workspaceId: _workspaceId, ...input } }) => {
      const key = { ...input, origin: ctx.edit.origin };
      const { id, secret } = await ctx.transact(async (trx) => {
        await requireKeyManager(trx, ctx.edit, key.userId);
        return await createKey(trx, key, ctx.services.quotas);
      });
      return { id: encodeId("key", id), key: secret };
    }),

  delete: workspaceProcedure("members:manage")
    .input(workspaceInput({ userId }))
    .mutation(async ({ ctx, input: { userId } }) => {
      await ctx.transact((trx) => deleteServiceAccount(trx, ctx.edit, { userId }));
      return null;
    }),
});
