import { encodeId } from "@latchkey/db/ids";
import {
  fewCandidates,
  listBusiestConsumers,
  listBusiestIssuedKeys,
  listBusiestTags,
  readSubjectUsage,
} from "@latchkey/db/keyspace-usage";
import { findLatestOutcome } from "@latchkey/db/latest-outcome";
import { listRecentUsage } from "@latchkey/db/recent-key-usage";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { listRejections, readConsumerUsage, readIssuedKeyUsage } from "../domain/keyspace-usage.ts";
import { getKeyspace } from "../domain/keyspaces.ts";
import { issuedKeyId, issuedKeyIds, keyspaceId } from "../fields.ts";
import { externalId } from "../issued-key-fields.ts";
import { areValidBuckets, invalidBuckets, usageBuckets } from "../key-fields.ts";
import { presentIssuedKeyRejection } from "../presenters/keyspace-usage.ts";
import { presentUsage } from "../presenters/usage-bucket.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const reading = workspaceProcedure("keys:read");
const keyspaceInput = workspaceInput({ keyspaceId, ...usageBuckets }).refine(areValidBuckets, invalidBuckets);

/** The maximum number of keys, consumers and tags in a list of the busiest ones. */
const shown = 10;
const shownTags = 20;

/** The verifications of the keys of a keyspace. */
export const keyspaceUsageRouter = createRouter({
  /** The number of verifications per outcome and bucket, with all keys. */
  usage: reading.input(keyspaceInput).query(async ({ ctx: { read, access }, input }) => {
    const { scope } = access;
    const { keyspaceId, starts, to } = input;
    const rows = await read((db) =>
      inWorkspace(db, scope, async (trx) => {
        await getKeyspace(trx, scope, keyspaceId);
        return await readSubjectUsage(trx, scope, { subjectId: keyspaceId, buckets: { starts, to } });
      }),
    );
    return rows.map(presentUsage);
  }),

  /** The keys, consumers and tags with the most verifications in a period. */
  busiest: reading.input(keyspaceInput).query(async ({ ctx: { read, access }, input }) => {
    const { scope } = access;
    const { keyspaceId, starts, to } = input;
    const period = { from: starts[0] ?? to, to };
    return await read((db) =>
      inWorkspace(db, scope, async (trx) => {
        await getKeyspace(trx, scope, keyspaceId);
        const busiest = { ...period, keyspaceIds: [keyspaceId], limit: shown, candidates: fewCandidates };
        const keys = await listBusiestIssuedKeys(trx, scope, busiest);
        const consumers = await listBusiestConsumers(trx, scope, busiest);
        const tags = await listBusiestTags(trx, scope, { ...period, keyspaceId, limit: shownTags });
        return {
          keys: keys.map(({ id, name, start, count, useCount }) => ({
            id: encodeId("issuedKey", id),
            name,
            start,
            count,
            useCount,
          })),
          consumers: consumers.map(({ externalId, count, useCount }) => ({ externalId, count, useCount })),
          tags,
        };
      }),
    );
  }),

  /** The verifications of the keys of a page per day in UTC, in the last 30 days. Keys without any are left out. */
  recent: reading
    .input(workspaceInput({ keyspaceId, ids: issuedKeyIds }))
    .query(async ({ ctx: { read, access }, input: { keyspaceId, ids } }) => {
      const { scope } = access;
      const rows = await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          await getKeyspace(trx, scope, keyspaceId);
          return await listRecentUsage(trx, scope, { keyspaceId, ids });
        }),
      );
      return rows.map(({ id, count, useCount, days }) => ({
        id: encodeId("issuedKey", id),
        count,
        useCount,
        days,
      }));
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

  /** The outcome of the latest verifications with all keys; null if there was never one, as far as is known. */
  latestOutcome: reading
    .input(workspaceInput({ keyspaceId }))
    .query(async ({ ctx, input: { keyspaceId } }) => {
      const { scope } = ctx.access;
      const outcome = await ctx.read((db) =>
        inWorkspace(db, scope, async (trx) => {
          return await findLatestOutcome(trx, scope, await getKeyspace(trx, scope, keyspaceId));
        }),
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
