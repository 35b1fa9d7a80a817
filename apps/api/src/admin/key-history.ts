import { isIP } from "node:net";
import type { InspectedKey } from "@latchkey/auth/inspection";
import { encodeId } from "@latchkey/db/ids";
import type { KeyRefusal } from "@latchkey/db/key-history";
import {
  findOwnRefusals,
  listKeyAddresses,
  listKeyRefusals,
  readKeyUsage,
  readKeyUsageInBuckets,
} from "@latchkey/db/key-history";
import { asUser } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getKey } from "../domain/api-keys.ts";
import { explainOutcome } from "../domain/outcomes.ts";
import { keyId } from "../fields.ts";
import type { Explanation } from "../http/explain-request.ts";
import { rejectedAs } from "../issues.ts";
import {
  areBuckets,
  isAnswerable,
  notBuckets,
  unanswerable,
  usageBuckets,
  usagePeriod,
} from "../key-fields.ts";
import { presentUsage, presentUsageBucket } from "../presenters/usage-bucket.ts";
import { type Context, createRouter, sessionProcedure } from "./trpc.ts";

/** A request to evaluate. */
const triedRequest = {
  method: z.enum(["GET", "POST", "PATCH", "PUT", "DELETE"]),
  path: z
    .string()
    .trim()
    .max(2_048)
    .regex(/^\/open(\/|$)/, "Enter a path that begins with /open/."),
  /** The reader's own by default. */
  address: z
    .string()
    .trim()
    .refine(
      (text) => isIP(text) !== 0,
      rejectedAs("invalid_format", "Enter an IP address, for example 203.0.113.7."),
    )
    .optional(),
};

/** For reading about one of a person's own keys. @throws {AppError} NOT_FOUND when it is deleted or was never theirs. */
const ownKeyProcedure = sessionProcedure
  .input(z.object({ id: keyId }))
  .use(async ({ ctx, input: { id }, next }) => {
    await ctx.read((db) => getKey(db, { userId: ctx.user.id, id }));
    return await next({ ctx: { ...ctx, keyId: id } });
  });

/** What a person's own keys did, and why they were refused. */
export const keyHistoryRouter = createRouter({
  /** How many requests had which outcome, by hour or day in UTC, in each workspace (null for none). */
  usage: ownKeyProcedure
    .input(z.strictObject({ id: z.string(), ...usagePeriod }).refine(isAnswerable, unanswerable))
    .query(async ({ ctx, input: { from, to, bucket } }) => {
      const period = { keyId: ctx.keyId, from, to, bucket };
      const rows = await ctx.read((db) => asUser(db, ctx.user.id, (trx) => readKeyUsage(trx, period)));
      return rows.map(presentUsageBucket);
    }),

  /** How many requests had which outcome in each bucket, in all workspaces together. */
  usageInBuckets: ownKeyProcedure
    .input(z.strictObject({ id: z.string(), ...usageBuckets }).refine(areBuckets, notBuckets))
    .query(async ({ ctx, input: { starts, to } }) => {
      const rows = await ctx.read((db) =>
        asUser(db, ctx.user.id, (trx) => readKeyUsageInBuckets(trx, ctx.keyId, { starts, to })),
      );
      return rows.map(presentUsage);
    }),

  /** The last 100, newest first. */
  refusals: ownKeyProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx }) => {
    const refusals = await ctx.read((db) => listKeyRefusals(db, ctx.keyId));
    return refusals.map(presentRefusal);
  }),

  /** The last five distinct addresses, newest first; times are good to a minute. */
  addresses: ownKeyProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx }) => {
    const addresses = await ctx.read((db) => listKeyAddresses(db, ctx.keyId));
    return addresses.map(({ address, lastSeenAt }) => ({ address, lastSeenAt: lastSeenAt.toISOString() }));
  }),

  /** Why the request of this id was refused, where it was one with a key of the reader's. */
  explainRequest: sessionProcedure
    .input(z.strictObject({ requestId: z.string().trim().min(1, "Enter a request id.").max(128) }))
    .query(async ({ ctx, input: { requestId } }) => {
      const refusals = await ctx.read((db) => findOwnRefusals(db, ctx.user.id, requestId));
      return refusals.map((refusal) => ({
        ...presentRefusal(refusal),
        key: {
          id: encodeId("key", refusal.keyId),
          name: refusal.keyName,
          isDeleted: refusal.isKeyDeleted,
        },
      }));
    }),

  /** What admission would decide about a request with a key that is pasted. No use is counted. */
  tryOut: sessionProcedure
    .input(z.strictObject({ key: z.string().trim().min(1, "Paste a key.").max(8_192), ...triedRequest }))
    .mutation(async ({ ctx, input: { key, ...request } }) => {
      return presentVerdict(await ctx.explain(toTried(ctx, { token: key }, request)));
    }),

  /** The same for one of the user's own keys with its current secret, which isn't needed for it. */
  evaluate: ownKeyProcedure
    .input(z.strictObject({ id: z.string(), ...triedRequest }))
    .mutation(async ({ ctx, input: { id: _id, ...request } }) => {
      return presentVerdict(await ctx.explain(toTried(ctx, { keyId: ctx.keyId }, request)));
    }),
});

/** The query and the fragment of a path don't matter to admission. Without an IP address, it is the reader's own. */
function toTried(
  ctx: Pick<Context, "address">,
  key: InspectedKey,
  { method, path, address }: z.output<z.ZodObject<typeof triedRequest>>,
) {
  return { key, method, path: path.replace(/[?#].*/s, ""), address: address ?? ctx.address ?? undefined };
}

function presentVerdict({ keyId, ...verdict }: Explanation) {
  return { ...verdict, keyId: keyId ? encodeId("key", keyId) : null };
}

function presentRefusal({ id, occurredAt, address, method, path, requestId, reason }: KeyRefusal) {
  return {
    id: encodeId("keyRefusal", id),
    occurredAt: occurredAt.toISOString(),
    address,
    method,
    path,
    requestId,
    reason,
    explanation: explainOutcome(reason),
  };
}
