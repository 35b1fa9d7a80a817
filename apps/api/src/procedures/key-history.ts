import { isIP } from "node:net";
import type { InspectedKey } from "@latchkey/auth/inspection";
import { encodeId } from "@latchkey/db/ids";
import type { FoundRejection, KeyRejection } from "@latchkey/db/key-history";
import { listKeyAddresses, listKeyRejections, readKeyUsageInBuckets } from "@latchkey/db/key-history";
import type { UserKind } from "@latchkey/db/user-kind";
import { asUser } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getKey } from "../domain/api-keys.ts";
import { readOwnKeyUsage } from "../domain/key-usage.ts";
import { explainOutcome } from "../domain/outcomes.ts";
import { findReadableRejections } from "../domain/readable-rejections.ts";
import type { ManagedKeyOwner } from "../domain/service-accounts.ts";
import type { Explanation } from "../http/explain-request.ts";
import { customIssue } from "../issues.ts";
import {
  areValidBuckets,
  invalidBuckets,
  invalidPeriod,
  isValidPeriod,
  usageBuckets,
  usagePeriod,
} from "../key-fields.ts";
import { presentOwningAccount } from "../presenters/api-key.ts";
import { presentUsage, presentUsageBucket } from "../presenters/usage-bucket.ts";
import { readableKeyProcedure } from "./key-procedures.ts";
import { type Context, createRouter, sessionProcedure } from "./trpc.ts";

/** A request to evaluate. */
const triedRequest = {
  method: z.enum(["GET", "POST", "PATCH", "PUT", "DELETE"]),
  path: z
    .string()
    .trim()
    .max(2_048)
    .regex(/^\/open(\/|$)/, "Enter a path that begins with /open/."),
  /** The user's own IP address by default. */
  address: z
    .string()
    .trim()
    .refine(
      (text) => isIP(text) !== 0,
      customIssue("invalid_format", "Enter an IP address, for example 203.0.113.7."),
    )
    .optional(),
};

/** Reads about a key that isn't deleted. @throws {AppError} NOT_FOUND if it is deleted or the user may not see it. */
const keyProcedure = readableKeyProcedure.use(async ({ ctx, next }) => {
  await ctx.read((db) => getKey(db, { userId: ctx.owner.userId, id: ctx.keyId }));
  return await next({ ctx });
});

/** The history of keys that the user may see: their usage, and the reasons for rejections. */
export const keyHistoryRouter = createRouter({
  /** The number of requests per outcome, workspace (null for none), and hour or day in UTC. */
  usage: keyProcedure
    .input(z.strictObject({ id: z.string(), ...usagePeriod }).refine(isValidPeriod, invalidPeriod))
    .query(async ({ ctx, input: { from, to, bucket } }) => {
      const period = { keyId: ctx.keyId, from, to, bucket };
      const rows = await ctx.read((db) => readOwnKeyUsage(db, ctx.owner.userId, period));
      return rows.map(presentUsageBucket);
    }),

  /** The number of requests per outcome and bucket, in all workspaces. */
  usageInBuckets: keyProcedure
    .input(z.strictObject({ id: z.string(), ...usageBuckets }).refine(areValidBuckets, invalidBuckets))
    .query(async ({ ctx, input: { starts, to } }) => {
      const rows = await ctx.read((db) =>
        asUser(db, ctx.owner.userId, (trx) => readKeyUsageInBuckets(trx, ctx.keyId, { starts, to })),
      );
      return rows.map(presentUsage);
    }),

  /** The last 100 rejected requests, newest first. */
  refusals: keyProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx }) => {
    const rejections = await ctx.read((db) => listKeyRejections(db, ctx.keyId));
    const kind = kindOf(ctx.owner);
    return rejections.map((rejection) => presentRejection(rejection, kind));
  }),

  /** The last five distinct addresses, newest first, with times accurate to a minute. */
  addresses: keyProcedure.input(z.strictObject({ id: z.string() })).query(async ({ ctx }) => {
    const addresses = await ctx.read((db) => listKeyAddresses(db, ctx.keyId));
    return addresses.map(({ address, lastSeenAt }) => ({ address, lastSeenAt: lastSeenAt.toISOString() }));
  }),

  /** The reason why a request was rejected, by its ID, if it used a key that the user may see. */
  explainRequest: sessionProcedure
    .input(z.strictObject({ requestId: z.string().trim().min(1, "Enter a request ID.").max(128) }))
    .query(async ({ ctx, input: { requestId } }) => {
      const reader = { userId: ctx.user.id, hasSecondFactor: ctx.hasSecondFactor };
      const rejections = await ctx.read((db) => findReadableRejections(db, reader, requestId));
      return rejections.map((rejection) => ({
        ...presentRejection(rejection, rejection.ownerKind),
        key: presentRejectedKey(rejection),
      }));
    }),

  /** Evaluates a request with a pasted key as admission would. Counts no use. */
  tryOut: sessionProcedure
    .input(z.strictObject({ key: z.string().trim().min(1, "Paste a key.").max(8_192), ...triedRequest }))
    .mutation(async ({ ctx, input: { key, ...request } }) => {
      return presentVerdict(await ctx.explain(toTriedRequest(ctx, { token: key }, request)));
    }),

  /** Evaluates a request with the current secret of a key that the user may see, without needing the secret. */
  evaluate: keyProcedure
    .input(z.strictObject({ id: z.string(), ...triedRequest }))
    .mutation(async ({ ctx, input: { id: _id, ...request } }) => {
      const tried = toTriedRequest(ctx, { keyId: ctx.keyId }, request);
      const owner = { userId: ctx.owner.userId, kind: kindOf(ctx.owner) };
      return presentVerdict(await ctx.explain(tried, owner));
    }),
});

/**
 * Removes the query and the fragment of the path, which admission ignores. Without an IP address, uses the user's
 * own.
 */
function toTriedRequest(
  ctx: Pick<Context, "address">,
  key: InspectedKey,
  { method, path, address }: z.output<z.ZodObject<typeof triedRequest>>,
) {
  return { key, method, path: path.replace(/[?#].*/s, ""), address: address ?? ctx.address ?? undefined };
}

function presentVerdict({ keyId, ...verdict }: Explanation) {
  return { ...verdict, keyId: keyId ? encodeId("key", keyId) : null };
}

function kindOf({ serviceAccount }: ManagedKeyOwner): UserKind {
  return serviceAccount ? "service_account" : "person";
}

function presentRejectedKey(rejection: FoundRejection) {
  const { ownerId: userId, ownerName: name, serviceWorkspaceId: workspaceId } = rejection;
  return {
    id: encodeId("key", rejection.keyId),
    name: rejection.keyName,
    isDeleted: rejection.isKeyDeleted,
    serviceAccount: workspaceId ? presentOwningAccount({ userId, name, workspaceId }) : null,
  };
}

function presentRejection(
  { id, occurredAt, address, method, path, requestId, reason }: KeyRejection,
  ownerKind: UserKind,
) {
  return {
    id: encodeId("keyRejection", id),
    occurredAt: occurredAt.toISOString(),
    address,
    method,
    path,
    requestId,
    reason,
    explanation: explainOutcome(reason, ownerKind),
  };
}
