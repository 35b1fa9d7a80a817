import { listRejectingWorkspaces } from "@latchkey/db/api-key-policies";
import { ownKeySorts } from "@latchkey/db/api-key-search";
import { summarizeApiKeys } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import { keyStatuses } from "@latchkey/db/key-status";
import { asUser } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { createKey, deleteKey, updateKey } from "../domain/api-key-edits.ts";
import { revokeOldSecrets, rotateKey } from "../domain/api-key-secrets.ts";
import { getKey, listKeys, toListedKey } from "../domain/api-keys.ts";
import { findViolatedPolicies } from "../domain/key-policies.ts";
import { keyDescription, keyName, searchText } from "../fields.ts";
import { overlapSeconds, requestedSettings } from "../key-fields.ts";
import { pageSize } from "../lists.ts";
import { presentManagedKey } from "../presenters/api-key.ts";
import { keyInput, managedKeyProcedure, readableKeyProcedure } from "./key-procedures.ts";
import { createRouter, originOf, sessionProcedure } from "./trpc.ts";

const maxPage = 100_000;

/** Revokes the key's old secrets. */
const revokeOldSecretsProcedure = managedKeyProcedure.input(keyInput({})).mutation(async ({ ctx }) => {
  const changed = await ctx.transact((trx) => revokeOldSecrets(trx, ctx.edit));
  return presentManagedKey(await ctx.read((db) => toListedKey(db, ctx.owner.userId, changed)), ctx.owner);
});

/** The user's own API keys. `get` and the changes also accept keys of service accounts that the user may manage. */
export const apiKeysRouter = createRouter({
  list: sessionProcedure
    .input(
      z.strictObject({
        search: searchText.default(""),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: pageSize.default(25),
        status: z.enum(keyStatuses).optional(),
        sort: z.enum(ownKeySorts).optional(),
        direction: z.enum(["asc", "desc"]).optional(),
      }),
    )
    .query(async ({ ctx, input }) => {
      const { items, total } = await ctx.read((db) => listKeys(db, ctx.user.id, input));
      return {
        items: items.map((key) => presentManagedKey(key, { userId: ctx.user.id })),
        total,
      };
    }),

  summary: sessionProcedure.query(async ({ ctx }) => {
    const { keyCount, usageCount, lastUsedAt } = await ctx.read((db) => summarizeApiKeys(db, ctx.user.id));
    return { keyCount, usageCount, lastUsedAt: lastUsedAt?.toISOString() ?? null };
  }),

  get: readableKeyProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx }) => {
    const key = { userId: ctx.owner.userId, id: ctx.keyId };
    return await ctx.read(async (db) =>
      presentManagedKey(await toListedKey(db, key.userId, await getKey(db, key)), ctx.owner),
    );
  }),

  /** The workspaces that reject the key, by a block or by their policy, although it can reach them. */
  rejectingWorkspaces: readableKeyProcedure
    .input(z.strictObject({ id: z.string() }))
    .query(async ({ ctx }) => {
      const { userId } = ctx.owner;
      const rejecting = await ctx.read((db) =>
        asUser(db, userId, (trx) => listRejectingWorkspaces(trx, { userId, id: ctx.keyId })),
      );
      return rejecting.map(
        ({
          workspaceId,
          name,
          slug,
          isBlocked,
          blockedAt,
          blockedByName,
          blockedByKind,
          violation,
          policy,
        }) => ({
          workspace: { id: encodeId("workspace", workspaceId), name, slug },
          isBlocked,
          blockedAt: blockedAt?.toISOString() ?? null,
          blockedByName,
          blockedByKind,
          violation,
          policy,
        }),
      );
    }),

  /** The workspaces whose policies would not allow a key with these settings. */
  checkPolicies: sessionProcedure
    .input(z.strictObject({ settings: requestedSettings }))
    .query(async ({ ctx, input: { settings } }) => {
      const violated = await ctx.read((db) => findViolatedPolicies(db, ctx.user.id, settings));
      return violated.map(({ workspaceId, name, violation, policy }) => ({
        workspace: { id: encodeId("workspace", workspaceId), name },
        violation,
        policy,
      }));
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
      const { id, secret } = await ctx.transact((trx) => createKey(trx, key, ctx.services.quotas));
      return { id: encodeId("key", id), key: secret };
    }),

  /**
   * `version` is the version that the user edited; without it, the edit applies to any version. Fields that are left
   * out keep their value. An edit that expands the key's access is rejected with UNPROCESSABLE_CONTENT and an issue
   * per setting, unless `mayExpand` is true.
   */
  update: managedKeyProcedure
    .input(
      keyInput({
        name: keyName.optional(),
        description: keyDescription.optional(),
        settings: requestedSettings.optional(),
        version: z.int32().min(1).optional(),
        mayExpand: z.boolean().default(false),
        // The former name. The web app sends it for one more release, because nodes of the previous version reject the new
        // one; open tabs send it for another.
        mayWiden: z.boolean().default(false),
      }),
    )
    .mutation(async ({ ctx, input: { id: _id, version, mayExpand, mayWiden, ...changes } }) => {
      const change = {
        ...changes,
        mayExpand: mayExpand || mayWiden,
        versions: version === undefined ? undefined : [version],
      };
      const changed = await ctx.transact((trx) => updateKey(trx, ctx.edit, change, ctx.services.quotas));
      return presentManagedKey(await ctx.read((db) => toListedKey(db, ctx.owner.userId, changed)), ctx.owner);
    }),

  /**
   * The only response that contains the new secret. `version` is the version that the user saw; without it, any version is rotated. The
   * web app sends it in the next release, because nodes of the previous version reject it.
   */
  rotate: managedKeyProcedure
    .input(keyInput({ overlapSeconds, version: z.int32().min(1).optional() }))
    .mutation(async ({ ctx, input: { overlapSeconds, version } }) => {
      const { quotas } = ctx.services;
      const edit = { ...ctx.edit, versions: version === undefined ? undefined : [version] };
      const { apiKey, secret } = await ctx.transact((trx) => rotateKey(trx, edit, overlapSeconds, quotas));
      return { id: encodeId("key", apiKey.id), key: secret };
    }),

  revokeOldSecrets: revokeOldSecretsProcedure,

  /** The former name, which the web app calls until the previous release supports the new one. */
  endOverlap: revokeOldSecretsProcedure,

  delete: managedKeyProcedure.input(keyInput({})).mutation(async ({ ctx }) => {
    await ctx.transact((trx) => deleteKey(trx, ctx.edit));
    return null;
  }),
});
