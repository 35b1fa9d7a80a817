import { listIssuedKeys } from "@latchkey/db/issued-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { listIssuedKeyHistory } from "../domain/issued-key-history.ts";
import { revokeOldSecrets, rotateKey } from "../domain/issued-key-rotation.ts";
import { changeIssuedKey, createIssuedKey, deleteIssuedKey, getIssuedKey } from "../domain/issued-keys.ts";
import { getKeyspace } from "../domain/keyspaces.ts";
import { issuedKeyId, keyspaceId } from "../fields.ts";
import { issuedKeyChanges, newIssuedKeyFields } from "../issued-key-fields.ts";
import { issuedKeyFilter } from "../issued-key-filter.ts";
import { overlapSeconds, requestedExpiry } from "../key-fields.ts";
import { listQuery, pageSize, readPage, searchFilter, toPage } from "../lists.ts";
import { presentIssuedKey, presentIssuedKeyWithSecret } from "../presenters/issued-key.ts";
import { presentIssuedKeyEvent } from "../presenters/issued-key-event.ts";
import { presentVerification } from "../presenters/verification.ts";
import { toVerification, verificationRequest } from "../verification-fields.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const order = listQuery(["createdAt", "name", "expiresAt"]).shape;
const { key, permissions, cost, clientIp } = verificationRequest.shape;

const reading = workspaceProcedure("keys:read");
const managing = workspaceProcedure("keys:manage");
const path = { keyspaceId, id: issuedKeyId };
const expiresAt = requestedExpiry.exactOptional();

/** The keys of a keyspace. */
export const issuedKeysRouter = createRouter({
  /**
   * A page of the keys. Counting the matches would read all keys. With filters that match few keys together, a page can be
   * shorter than its size, or empty, and still have a next one.
   */
  list: reading
    .input(
      workspaceInput({
        keyspaceId,
        ...issuedKeyFilter,
        // The start of a name, or the first characters of a secret.
        search: searchFilter,
        sort: order.sort,
        cursor: order.cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const { keyspaceId, name, search, externalId, status, start, permission } = input;
      const query = { ...input, limit: input.pageSize };
      const filter = { name, search, externalId, status, start, permission };
      const page = { ...readPage(query), keyspaceId, filter };
      const keys = await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          await getKeyspace(trx, scope, keyspaceId);
          return await listIssuedKeys(trx, scope, page);
        }),
      );
      const { data, nextCursor } = toPage(keys, query, { present: presentIssuedKey, idOf: ({ id }) => id });
      return { items: data, nextCursor };
    }),

  get: reading.input(workspaceInput(path)).query(async ({ ctx: { read, access }, input }) => {
    const { scope } = access;
    const { keyspaceId, id } = input;
    return presentIssuedKey(
      await read((db) => inWorkspace(db, scope, (trx) => getIssuedKey(trx, scope, { keyspaceId, id }))),
    );
  }),

  /** The latest 100 changes to a key, newest first. With `hasCredits`, only those of its credits. */
  changes: reading
    .input(workspaceInput({ ...path, hasCredits: z.boolean().default(false) }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId, id, hasCredits } }) => {
      const { scope } = access;
      const rows = await read((db) =>
        inWorkspace(db, scope, (trx) => listIssuedKeyHistory(trx, scope, { keyspaceId, id, hasCredits })),
      );
      return rows.map(presentIssuedKeyEvent);
    }),

  /** Returns the secret, which is shown once. */
  create: managing
    .input(workspaceInput({ keyspaceId, fields: z.strictObject({ ...newIssuedKeyFields, expiresAt }) }))
    .mutation(async ({ ctx, input: { keyspaceId, fields } }) => {
      const key = { ...fields, keyspaceId };
      return presentIssuedKeyWithSecret(
        await ctx.transact((trx) => createIssuedKey(trx, ctx.edit, key, ctx.services.quotas)),
      );
    }),

  /** `version` is the version that the user edited. */
  update: managing
    .input(
      workspaceInput({
        ...path,
        version: z.int32().min(1),
        changes: z.strictObject({ ...issuedKeyChanges, expiresAt }),
      }),
    )
    .mutation(async ({ ctx, input: { keyspaceId, id, version, changes } }) => {
      const change = { ...changes, versions: [version] };
      return presentIssuedKey(
        await ctx.transact((trx) =>
          changeIssuedKey(trx, ctx.edit, { keyspaceId, id }, change, ctx.services.quotas),
        ),
      );
    }),

  /**
   * Returns the new secret, which is shown once. `version` is the version that the user saw; without it, any version is rotated. The
   * web app sends it in the next release, because nodes of the previous version reject it.
   */
  rotate: managing
    .input(workspaceInput({ ...path, overlapSeconds, version: z.int32().min(1).optional() }))
    .mutation(async ({ ctx, input: { keyspaceId, id, overlapSeconds, version } }) => {
      const versions = version === undefined ? undefined : [version];
      const rotation = { overlapSeconds, versions, quotas: ctx.services.quotas };
      return presentIssuedKeyWithSecret(
        await ctx.transact((trx) => rotateKey(trx, ctx.edit, { keyspaceId, id }, rotation)),
      );
    }),

  /**
   * Revokes all old secrets of a key. `version` is the version that the user saw; without it, those of any version. The web app
   * sends it in the next release, because nodes of the previous version reject it.
   */
  revokeOldSecrets: managing
    .input(workspaceInput({ ...path, version: z.int32().min(1).optional() }))
    .mutation(async ({ ctx, input: { keyspaceId, id, version } }) => {
      const versions = version === undefined ? undefined : [version];
      return presentIssuedKey(
        await ctx.transact((trx) => revokeOldSecrets(trx, ctx.edit, { keyspaceId, id }, versions)),
      );
    }),

  delete: managing.input(workspaceInput(path)).mutation(async ({ ctx, input: { keyspaceId, id } }) => {
    await ctx.transact((trx) => deleteIssuedKey(trx, ctx.edit, { keyspaceId, id }, undefined));
    return null;
  }),

  /**
   * Verifies a pasted key of the keyspace, like `POST /open/keys/verify`. By default, nothing is spent.
   * @throws {AppError} SERVICE_UNAVAILABLE
   */
  verify: workspaceProcedure("keys:verify")
    .input(workspaceInput({ keyspaceId, key, permissions, cost: cost.unwrap().default(0), clientIp }))
    .mutation(async ({ ctx, input: { workspaceId: _workspaceId, ...request } }) => {
      const { user, reads, verify, access, services } = ctx;
      const { workspaceId } = access.scope;
      const verification = { ...toVerification({ ...request, limits: [], tags: [] }), workspaceId };
      const outcome = await reads.run(user.id, performance.now() + services.deadlines.queueMs, () =>
        verify(user.id, verification),
      );
      // A request without names of limits has no other outcome.
      const result = outcome?.kind === "verified" ? outcome.results[0] : undefined;
      if (!result) throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
      return presentVerification(result);
    }),
});
