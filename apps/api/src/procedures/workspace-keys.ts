import { roleHasPermission } from "@latchkey/auth/permissions";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import { getPolicy, previewPolicy } from "@latchkey/db/api-key-policies";
import type { UserId } from "@latchkey/db/ids";
import { listWorkspaceKeys, workspaceKeySorts, workspaceKeyStatuses } from "@latchkey/db/workspace-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import {
  applyChanges,
  blockWorkspaceKeys,
  changePolicy,
  unblockWorkspaceKeys,
} from "../domain/key-policies.ts";
import { keyId, searchText, userId } from "../fields.ts";
import { pageSize } from "../lists.ts";
import { policyChanges, previewedFactor } from "../policy-fields.ts";
import { maxRejectedKeys, presentPolicy, presentPreview } from "../presenters/api-key-policy.ts";
import { presentWorkspaceKey } from "../presenters/workspace-key.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const maxPage = 10_000;
/** The keys that one call blocks or unblocks: at most a page. */
const changedKeys = z.array(keyId).min(1).max(100);

/** Members without the permission to see all keys see their own keys. */
export function ownerFilter({ role, userId }: WorkspaceAccess): UserId | undefined {
  return roleHasPermission(role, "api-keys:read") ? undefined : userId;
}

/** The API keys that can reach a workspace. */
export const workspaceKeysRouter = createRouter({
  /** A page of the keys. Members without the permission to see all keys see their own. */
  list: workspaceProcedure("workspace:read")
    .input(
      workspaceInput({
        search: searchText.default(""),
        status: z.enum(workspaceKeyStatuses).optional(),
        ownerId: userId.optional(),
        sort: z.enum(workspaceKeySorts).default("createdAt"),
        direction: z.enum(["asc", "desc"]).default("desc"),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: pageSize.default(25),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { search, status, sort, direction, page, pageSize } = input;
      const { scope } = access;
      const onlyOwn = ownerFilter(access);
      const query = {
        search,
        status,
        sort,
        direction,
        ownerId: onlyOwn ?? input.ownerId,
        offset: (page - 1) * pageSize,
        limit: pageSize,
      };
      const { items, total } = await read((db) =>
        inWorkspace(db, scope, (trx) => listWorkspaceKeys(trx, scope, query)),
      );
      return { items: items.map(presentWorkspaceKey), total, isOwn: onlyOwn !== undefined };
    }),

  /** Blocks keys from the workspace, all or none. */
  block: workspaceProcedure("api-keys:manage")
    .input(workspaceInput({ keyIds: changedKeys }))
    .mutation(async ({ ctx, input: { keyIds } }) => {
      await ctx.transact((trx) => blockWorkspaceKeys(trx, ctx.edit, keyIds));
      return null;
    }),

  /** Unblocks keys, all or none, and restarts their idle time. */
  unblock: workspaceProcedure("api-keys:manage")
    .input(workspaceInput({ keyIds: changedKeys }))
    .mutation(async ({ ctx, input: { keyIds } }) => {
      await ctx.transact((trx) => unblockWorkspaceKeys(trx, ctx.edit, keyIds));
      return null;
    }),

  policy: workspaceProcedure("workspace:read")
    .input(workspaceInput({}))
    .query(async ({ ctx: { read, access } }) =>
      presentPolicy(await read((db) => inWorkspace(db, access.scope, (trx) => getPolicy(trx, access.scope)))),
    ),

  /** The keys that another policy, or the requirement of a second factor, would reject. */
  previewPolicy: workspaceProcedure("api-keys:manage")
    .input(workspaceInput({ ...policyChanges, ...previewedFactor }))
    .query(async ({ ctx: { read, access }, input }) => {
      const { workspaceId: _id, requiresSecondFactor, ...changes } = input;
      const { scope } = access;
      const preview = await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const policy = applyChanges(await getPolicy(trx, scope), changes);
          return await previewPolicy(trx, scope, { policy, requiresSecondFactor, limit: maxRejectedKeys });
        }),
      );
      return presentPreview(preview);
    }),

  /** `version` is the version that the user edited. */
  changePolicy: workspaceProcedure("api-keys:manage")
    .input(workspaceInput({ ...policyChanges, version: z.int32().min(1) }))
    .mutation(async ({ ctx, input: { workspaceId: _id, version, ...changes } }) =>
      presentPolicy(
        await ctx.transact((trx) => changePolicy(trx, ctx.edit, { changes, versions: [version] })),
      ),
    ),
});
