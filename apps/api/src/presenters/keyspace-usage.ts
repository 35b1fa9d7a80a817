import type { VerificationOutcome } from "@latchkey/auth/verification-outcome";
import { encodeId } from "@latchkey/db/ids";
import { type IssuedKeyRejection, issuedKeyRejectionLimit } from "@latchkey/db/keyspace-usage";
import type { KeyspaceUse } from "@latchkey/db/recent-key-usage";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import type { BusiestOfKeyspace } from "../domain/keyspace-charts.ts";
import { maxUsageGroups, type UsageGroup } from "../domain/keyspace-usage.ts";
import { shownId, shownIdentifier, shownText, timestamp } from "../schemas.ts";

/** What each outcome of a verification means. */
const outcomes: Readonly<Record<VerificationOutcome, string>> = {
  VALID: "The key was valid and was used.",
  CHECKED:
    "The key was valid but not used: all costs were 0, or an earlier request with the same `Idempotency-Key` had used it.",
  DISABLED: "The key, its keyspace or its workspace was disabled.",
  EXPIRED: "The key had expired.",
  FORBIDDEN: "The IP address was in none of the key's IP ranges, or was missing.",
  INSUFFICIENT_PERMISSIONS: "The key's permissions didn't satisfy the query.",
  RATE_LIMITED: "The remaining quota of a limit was lower than the cost.",
  USAGE_EXCEEDED: "The key had too few credits.",
};

/** The values of `outcome` with their meanings, as a list. */
export const outcomeMeanings: string = Object.entries(outcomes)
  .map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
  .join("\n");

const usageGroup = z
  .object({
    value: shownText(maxLength.externalId).meta({
      description: "The ID of the key, the `externalId`, the outcome or the tag.",
      example: "customer_42",
    }),
    name: shownText(maxLength.issuedKeyName).nullable().meta({
      description: "The name of the key; null for a deleted key, and for other groups.",
      example: null,
    }),
    count: z.int().min(1).meta({ description: "The number of verifications.", example: 42 }),
    useCount: z
      .int()
      .min(0)
      .meta({ description: "How many of them were valid and used the key.", example: 40 }),
    buckets: z
      .array(z.object({ startsAt: timestamp, count: z.int().min(1).meta({ example: 42 }) }))
      .meta({ maxItems: 1_000, description: "The number of verifications by time, oldest first." }),
  })
  .meta({ id: "KeyspaceUsageGroup" });

/** The usage of a keyspace by group. */
export const keyspaceUsage = z
  .object({ data: z.array(usageGroup).meta({ maxItems: maxUsageGroups }) })
  .meta({ id: "KeyspaceUsage" });

export function presentUsageGroup({
  value,
  name,
  count,
  useCount,
  buckets,
}: UsageGroup): z.input<typeof usageGroup> {
  return {
    value,
    name,
    count,
    useCount,
    buckets: buckets.map(({ startsAt, count }) => ({ startsAt: startsAt.toISOString(), count })),
  };
}

/** The busiest keys, consumers and tags of a keyspace, for the web app. */
export function presentBusiest({ keys, consumers, tags }: BusiestOfKeyspace) {
  return {
    keys: keys.map(({ id, name, start, count, useCount }) => ({
      id: encodeId("issuedKey", id),
      name,
      start,
      count,
      useCount,
    })),
    consumers: consumers.map(({ externalId, count, useCount }) => ({ externalId, count, useCount })),
    tags: tags.map(({ tag, count, useCount }) => ({ tag, count, useCount })),
  };
}

/** The use of a keyspace in a table of the web app. */
export function presentKeyspaceUse({ id, useCount, lastVerifiedAt }: KeyspaceUse) {
  return { id: encodeId("keyspace", id), useCount, lastVerifiedAt: lastVerifiedAt.toISOString() };
}

const issuedKeyRejection = z
  .object({
    id: shownId("keyRejection"),
    occurredAt: timestamp,
    code: shownIdentifier.meta({ description: "Why the verification was rejected.", example: "EXPIRED" }),
    clientIp: shownText(maxLength.ipAddress)
      .nullable()
      .meta({ description: "The `clientIp` of the verification; null for none.", example: "192.0.2.7" }),
    requestId: shownText(200).meta({
      description: "The ID of the request to Latchkey that verified the key.",
      example: "01h455vb4pex5vsknk084sn02q",
    }),
  })
  .meta({ id: "IssuedKeyRejection" });

/** The latest rejected verifications of a key. */
export const issuedKeyRejections = z
  .object({ data: z.array(issuedKeyRejection).meta({ maxItems: issuedKeyRejectionLimit.count }) })
  .meta({ id: "IssuedKeyRejections" });

export function presentIssuedKeyRejection({
  id,
  occurredAt,
  code,
  address,
  requestId,
}: IssuedKeyRejection): z.input<typeof issuedKeyRejection> {
  return {
    id: encodeId("keyRejection", id),
    occurredAt: occurredAt.toISOString(),
    code,
    clientIp: address,
    requestId,
  };
}
