import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { maxOffboardedKeys, previewOffboarding, replaceKeys } from "../domain/offboarding.ts";
import { keyId, role, serviceAccountName, userId } from "../fields.ts";
import { presentOffboarding, presentReplacementKey } from "../presenters/affected-key.ts";
import { presentServiceAccount } from "../presenters/service-account.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** The API keys that are affected if a member is removed or gets another role. */
export const offboardingRouter = createRouter({
  /**
   * The member's keys that can reach this workspace, busiest first, with the permissions that each key loses if the
   * member gets the role or, without a role, is removed.
   */
  preview: workspaceProcedure("api-keys:read")
    .input(workspaceInput({ userId, role: role.optional() }))
    .query(async ({ ctx: { read, access }, input: { userId, role } }) => {
      const { scope } = access;
      return presentOffboarding(
        await read((db) => inWorkspace(db, scope, (trx) => previewOffboarding(trx, scope, { userId, role }))),
      );
    }),

  /**
   * As `preview`, for the user's own keys, before the user leaves or takes another role. It requires only `members:read`
   * and no second factor, because every member may leave.
   */
  previewOwn: workspaceProcedure("members:read", { canLackSecondFactor: true })
    .input(workspaceInput({ role: role.optional() }))
    .query(async ({ ctx: { read, access, user }, input: { role } }) => {
      const { scope } = access;
      return presentOffboarding(
        await read((db) =>
          inWorkspace(db, scope, (trx) => previewOffboarding(trx, scope, { userId: user.id, role })),
        ),
      );
    }),

  /**
   * Creates a service account with the member's role, and a key with the same restrictions for each of these keys. The only
   * response that contains the secrets.
   */
  replaceKeys: workspaceProcedure("members:manage")
    .input(
      workspaceInput({
        userId,
        keyIds: z.array(keyId).min(1).max(maxOffboardedKeys),
        name: serviceAccountName,
      }),
    )
    .mutation(async ({ ctx, input: { userId, keyIds, name } }) => {
      const { quotas } = ctx.services;
      const { account, keys } = await ctx.transact((trx) =>
        replaceKeys(trx, ctx.edit, { userId, keyIds, name }, quotas),
      );
      return {
        serviceAccount: presentServiceAccount(account),
        keys: keys.map(presentReplacementKey),
      };
    }),
});
