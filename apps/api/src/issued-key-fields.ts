import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import { z } from "zod";
import { customIssue } from "./issues.ts";

const { maxPermissions, maxNamedLimits, maxQuota, maxWindowSeconds, maxCredits } = issuedKeyLimits;

const permissionPattern = /^(?:\*|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?:\.\*)?)$/;

/** The permissions of an issued key. The workspace's own API chooses their names. */
export const issuedPermissions = z
  .array(
    z
      .string()
      .max(maxLength.issuedPermission, `Use at most ${maxLength.issuedPermission} characters.`)
      .regex(permissionPattern, "Enter a permission such as documents.read, documents.* or *.")
      .meta({ example: "documents.read" }),
  )
  .max(maxPermissions, `Include at most ${maxPermissions} permissions.`)
  .transform((names) => [...new Set(names)]);

const limitName = z
  .string()
  .max(maxLength.limitName, `Use at most ${maxLength.limitName} characters.`)
  .regex(/^[a-z0-9_-]+$/, "Use lower-case letters, digits, underscores and hyphens.")
  .meta({ description: "Identifies the limit in requests.", example: "requests" });

const namedLimit = z.strictObject({
  name: limitName,
  quota: z
    .int()
    .min(1, "Allow at least 1.")
    .max(maxQuota, `Allow at most ${maxQuota}.`)
    .meta({ description: "The maximum cost per window; a verification costs 1 by default.", example: 100 }),
  windowSeconds: z
    .int()
    .min(1, "Use at least 1 second.")
    .max(maxWindowSeconds, `Use at most ${maxWindowSeconds} seconds (30 days).`)
    .meta({ description: "The length of a window, in seconds.", example: 60 }),
  appliesAlways: z.boolean().default(true).meta({
    description: "Whether the limit applies to every verification; otherwise, only to those that name it.",
  }),
});

/** The limits of an issued key or a consumer. */
export const namedLimits = z
  .array(namedLimit)
  .max(maxNamedLimits, `Include at most ${maxNamedLimits} limits.`)
  .refine(
    (limits) => new Set(limits.map(({ name }) => name)).size === limits.length,
    customIssue("invalid_value", "Use each name once."),
  );

const refill = z
  .strictObject({
    amount: z
      .int()
      .min(1, "Refill at least 1.")
      .max(maxCredits, `Refill at most ${maxCredits}.`)
      .meta({ description: "The balance after a refill. A higher balance stays.", example: 1_000 }),
    interval: z.enum(["daily", "monthly"]).meta({ description: "At midnight, in UTC.", example: "monthly" }),
    day: z.int().min(1, "Use at least 1.").max(31, "Use at most 31.").nullable().default(null).meta({
      description:
        "The day of a monthly refill; in a month with fewer days, its last day. Null for a daily refill.",
      example: 1,
    }),
  })
  .refine(({ interval, day }) => (interval === "monthly") === (day !== null), {
    path: ["day"],
    ...customIssue("invalid_value", "Enter a day for a monthly refill, and none for a daily refill."),
  });

/** A balance of credits. */
export const credits = z.strictObject({
  remaining: z
    .int()
    .min(0, "Use at least 0.")
    .max(maxCredits, `Use at most ${maxCredits}.`)
    .meta({ description: "The balance.", example: 1_000 }),
  refill: refill
    .nullable()
    .default(null)
    .meta({ description: "When the balance is refilled; null for never." }),
});
