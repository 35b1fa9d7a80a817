import { encodeId } from "@latchkey/db/ids";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import {
  listBusiestOfKeyspace,
  listKeyspaceUses,
  listRecentKeyUsage,
  readKeyspaceUsage,
  readLatestOutcome,
} from "../domain/keyspace-charts.ts";
import { listRejections, readConsumerUsage, readIssuedKeyUsage } from "../domain/keyspace-usage.ts";
import { issuedKeyId, issuedKeyIds, keyspaceId, keyspaceIds } from "../fields.ts";
import { externalId } from "../issued-key-fields.ts";
import { areValidBuckets, invalidBuckets, usageBuckets } from "../key-fields.ts";
import {
  presentBusiest,
  presentIssuedKeyRejection,
  presentKeyspaceUse,
} from "../presenters/keyspace-usage.ts";
import { presentUsage } from "../presenters/usage-bucket.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const reading = workspaceProcedure("keys:read");
const keyspaceInput = workspaceInput({ keyspaceId, ...usageBuckets }).refine(areValidBuckets, invalidBuckets);

/** The verifications of the keys of a keyspace. */
export const keyspaceUsageRouter = createRouter({
  /** The number of verifications per outcome and bucket, with all keys. */
  usage: reading
    .input(keyspaceInput)
    .query(async ({ ctx: { read, access }, input: { keyspaceId, starts, to } }) => {
      const { scope } = access;
      const usage = { keyspaceId, buckets: { starts, to } };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => readKeyspaceUsage(trx, scope, usage)));
      return rows.map(presentUsage);
    }),

  /** The keys, consumers and tags with the most verifications in a period. */
  busiest: reading
    .input(keyspaceInput)
    .query(async ({ ctx: { read, access }, input: { keyspaceId, starts, to } }) => {
      const { scope } = access;
      const usage = { keyspaceId, buckets: { starts, to } };
      return presentBusiest(
        await read((db) => inWorkspace(db, scope, (trx) => listBusiestOfKeyspace(trx, scope, usage))),
      );
    }),

  /** The verifications of the keys of a page per day in UTC, in the last 30 days. Keys without any are left out. */
  recent: reading
    .input(workspaceInput({ keyspaceId, ids: issuedKeyIds }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId, ids } }) => {
      const { scope } = access;
      const rows = await read((db) =>
        inWorkspace(db, scope, (trx) => listRecentKeyUsage(trx, scope, { keyspaceId, ids })),
      );
      return rows.map(({ id, count, useCount, days }) => ({
        id: encodeId("issuedKey", id),
        count,
        useCount,
        days,
      }));
    }),

  /**
   * The uses of the keyspaces of a page in the last 30 days, and the hour of their last verification. Keyspaces without any are left
   * out.
   */
  keyspaceUses: reading
    .input(workspaceInput({ ids: keyspaceIds }))
    .query(async ({ ctx: { read, access }, input: { ids } }) => {
      const { scope } = access;
      const rows = await read((db) => inWorkspace(db, scope, (trx) => listKeyspaceUses(trx, scope, ids)));
      return rows.map(presentKeyspaceUse);
    }),

  /** The number of verifications of a key per outcome and bucket. */
  keyUsage: reading
    .input(
      workspaceInput({ keyspaceId, id: issuedKeyId, ...usageBuckets }).refine(
        areValidBuckets,
        invalidBuckets,
      ),
    )
    .query(async ({ ctx: { read, access }, input: { keyspaceId, id, starts, to } }) => {
      const { scope } = access;
      const usage = { keyspaceId, id, buckets: { starts, to } };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => readIssuedKeyUsage(trx, scope, usage)));
      return rows.map(presentUsage);
    }),

  /** The number of verifications of a consumer's keys per outcome and bucket. */
  consumerUsage: reading
    .input(
      workspaceInput({ keyspaceId, externalId, ...usageBuckets }).refine(areValidBuckets, invalidBuckets),
    )
    .query(async ({ ctx: { read, access }, input: { keyspaceId, externalId, starts, to } }) => {
      const { scope } = access;
      const usage = { keyspaceId, externalId, buckets: { starts, to } };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => readConsumerUsage(trx, scope, usage)));
      return rows.map(presentUsage);
    }),

  /** The outcome of the latest verifications with all keys; null if none is known. See `findLatestOutcome`. */
  latestOutcome: reading
    .input(workspaceInput({ keyspaceId }))
    .query(async ({ ctx, input: { keyspaceId } }) => {
      const { scope } = ctx.access;
      const outcome = await ctx.read((db) =>
        inWorkspace(db, scope, (trx) => readLatestOutcome(trx, scope, keyspaceId)),
      );
      return { outcome: outcome ?? null };
    }),

  /** The latest 100 rejected verifications of a key, newest first. */
  rejections: reading
    .input(workspaceInput({ keyspaceId, id: issuedKeyId }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId, id } }) => {
      const { scope } = access;
      const rows = await read((db) =>
        inWorkspace(db, scope, (trx) => listRejections(trx, scope, { keyspaceId, id })),
      );
      return rows.map(presentIssuedKeyRejection);
    }),
});
