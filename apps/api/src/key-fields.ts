import { isIpRange } from "@latchkey/auth/ip-ranges";
import { permissions } from "@latchkey/auth/permissions";
import type { SettingName } from "@latchkey/db/key-settings";
import { maxLength, maxOverlapSeconds, restrictionLimits } from "@latchkey/limits";
import { z } from "zod";
import { bucketMs } from "./domain/bucket-ms.ts";
import { instant, workspaceId } from "./fields.ts";
import { customIssue } from "./issues.ts";
import { shownId } from "./schemas.ts";

const { maxItems, maxQuota, maxWindowSeconds } = restrictionLimits;

function setOf<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .min(1, "Include at least one item, or use null for all.")
    .max(maxItems, `Include at most ${maxItems} items.`)
    .transform((items) => [...new Set(items)])
    .nullable();
}

/** When a key expires. The domain checks that the time is in the future, by the database's clock. */
const expiryTime = instant.meta({ example: "2027-03-01T09:30:00Z" });

/** How long a key is valid from now, in seconds: at least 1, at most 100 years. The database's clock decides. */
export const lifetimeSeconds = z
  .int()
  .min(1, "Use at least 1s.")
  .max(36_500 * 86_400, "Use at most 36500d.");

/** How long the old secret of a key stays valid after a rotation, in seconds: from 0 to 30 days. */
export const overlapSeconds = z
  .int()
  .min(0, "Use at least 0.")
  .max(maxOverlapSeconds, `Use at most ${maxOverlapSeconds}, which is 30 days.`);

/** When a key expires, at a time or after a duration; null for never. For the web app, because a browser's clock may be wrong. */
export const requestedExpiry = z
  .union(
    [expiryTime, z.strictObject({ inSeconds: lifetimeSeconds })],
    "Enter a time in ISO 8601, in UTC, or a number of seconds from now.",
  )
  .nullable();

/** The restrictions of a key, and whether it is disabled. Each field is optional. */
export const keySettings = {
  isDisabled: z
    .boolean()
    .meta({
      description:
        "If `true`, all requests with the key are rejected. Enabling the key again expands its access.",
    })
    .exactOptional(),
  expiresAt: expiryTime
    .nullable()
    .meta({ description: "When the key expires, in the future; null for never." })
    .exactOptional(),
  workspaceIds: setOf(workspaceId.meta(shownId("workspace").meta() ?? {}))
    .meta({ description: "The only workspaces that the key can access; null for all of the owner's." })
    .exactOptional(),
  permissions: setOf(z.enum(permissions, "must be a permission"))
    .meta({
      description:
        "The permissions that the key is restricted to; null for all permissions of its owner. A key never has a permission that its owner lacks.",
    })
    .exactOptional(),
  isReadOnly: z
    .boolean()
    .meta({ description: "Whether the key has only permissions that end in `:read`." })
    .exactOptional(),
  ipRanges: setOf(
    z
      .string()
      .max(maxLength.ipRange, `Use at most ${maxLength.ipRange} characters.`)
      .refine(isIpRange, customIssue("invalid_format", "Enter an IP address or range, such as 10.0.0.0/8."))
      .meta({ pattern: "^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$", example: "203.0.113.0/24" }),
  )
    .meta({ description: "The IP addresses and ranges that the key can be used from; null for all." })
    .exactOptional(),
  limit: z
    .strictObject({
      quota: z
        .int()
        .min(1, "Allow at least 1.")
        .max(maxQuota, `Allow at most ${maxQuota}.`)
        .meta({ description: "Maximum requests per window." }),
      windowSeconds: z
        .int()
        .min(1, "Use at least 1 second.")
        .max(maxWindowSeconds, `Use at most ${maxWindowSeconds} seconds (1 day).`)
        .meta({ description: "The length of a window, in seconds." }),
    })
    .nullable()
    .meta({ description: "The rate limit; null for none." })
    .exactOptional(),
} satisfies Readonly<Record<SettingName, z.ZodType>>;

/** Restrictions of a key in the web app. */
export const requestedSettings = z.strictObject({
  ...keySettings,
  expiresAt: requestedExpiry.exactOptional(),
});

/** The last second of the year 9999, in seconds since 1970. */
const maxTime = 253_402_300_799;
const epochSeconds = z
  .int()
  .min(0)
  .max(maxTime)
  .transform((seconds) => new Date(seconds * 1_000));

/**
 * Consecutive buckets of a chart, in seconds since 1970. The web app sends them, because only the browser knows the
 * reader's time zone; as numbers, so that 90 days fit into a URL.
 */
export const usageBuckets = {
  starts: z
    .array(epochSeconds)
    .min(1)
    .max(100)
    .refine(
      (starts) => starts.every((start, place) => place === 0 || start > (starts[place - 1] ?? start)),
      customIssue("invalid_range", "must be in ascending order"),
    ),
  to: epochSeconds,
};

/** The longest period of a chart, because its statistics are read by hour: days begin at midnight in the reader's time zone. */
const maxChartDays = 100;

/** Whether the last bucket ends after it begins, at most {@link maxChartDays} days after the first one begins. */
export function areValidBuckets({ starts, to }: z.output<z.ZodObject<typeof usageBuckets>>): boolean {
  const [first = to] = starts;
  // Also called with times that are out of range, which were not converted to dates.
  return (starts.at(-1) ?? to) < to && Number(to) - Number(first) <= maxChartDays * bucketMs.day;
}

/** The issue of invalid buckets. */
export const invalidBuckets = {
  path: ["to"],
  ...customIssue(
    "invalid_range",
    `must be after the last start and at most ${maxChartDays} days after the first`,
  ),
};

const maxBuckets = 1_000;

/** A period of a key's history: the buckets, in UTC, that begin at `from` or later and before `to`. */
export const usagePeriod = {
  from: instant.meta({ description: "The start of the period, inclusive.", example: "2026-03-01T00:00:00Z" }),
  to: instant.meta({
    description: "The end of the period, exclusive. At most 1,000 buckets after `from`.",
    example: "2026-03-02T00:00:00Z",
  }),
  bucket: z.enum(["hour", "day"]).meta({ description: "The length of a bucket." }),
};

type UsagePeriod = z.output<z.ZodObject<typeof usagePeriod>>;

/** Whether a period begins before it ends and has at most {@link maxBuckets} buckets. */
export function isValidPeriod({ from, to, bucket }: UsagePeriod): boolean {
  const length = to.getTime() - from.getTime();
  return length > 0 && length <= maxBuckets * bucketMs[bucket];
}

/** The issue of an invalid period. */
export const invalidPeriod = {
  path: ["to"],
  ...customIssue("invalid_range", `must be after "from", by at most ${maxBuckets} buckets`),
};
