import { type ApiKeyPolicy, policyRules } from "@latchkey/db/key-policy";
import { policyLimits } from "@latchkey/limits";
import { z } from "zod";

function days(max: number) {
  return z.int().min(1, "Use at least 1 day.").max(max, `Use at most ${max} days.`).nullable();
}

const fields = {
  maxLifetimeDays: days(policyLimits.maxLifetimeDays).meta({
    description:
      "The most days from a key's creation, or its last rotation, to its expiry; null for any. A key that never expires exceeds every maximum.",
    example: 90,
  }),
  isExpiryRequired: z.boolean().meta({ description: "Whether keys must expire.", example: true }),
  areIpRangesRequired: z
    .boolean()
    .meta({ description: "Whether keys must be restricted to IP ranges.", example: false }),
  maxIdleDays: days(policyLimits.maxIdleDays).meta({
    description:
      "The maximum idle time, in days: a key that hasn't been used in the workspace for longer is rejected. Null for no maximum. The idle time counts from the end of the hour of the last use, the creation of the key, the time its owner joined, or the time an admin last unblocked it, whichever is latest.",
    example: 30,
  }),
} as const satisfies { readonly [Name in keyof ApiKeyPolicy]: z.ZodType<ApiKeyPolicy[Name]> };

/** The fields of a presented policy. */
export const policyFields = fields;

/** The fields of an edit of a policy: those that are left out keep their value. */
export const policyChanges = {
  maxLifetimeDays: fields.maxLifetimeDays.optional(),
  isExpiryRequired: fields.isExpiryRequired.optional(),
  areIpRangesRequired: fields.areIpRangesRequired.optional(),
  maxIdleDays: fields.maxIdleDays.optional(),
};

function daysInQuery(field: z.ZodType<number | null, number | null>, max: number) {
  return z
    .string()
    .regex(/^(none|[1-9]\d{0,3})$/, "must be a number of days, or none")
    .transform((text) => (text === "none" ? null : Number(text)))
    .pipe(field)
    .optional()
    .meta({
      description: "A number of days, or `none`.",
      example: "30",
      override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
        Object.assign(jsonSchema, {
          type: "string",
          maxLength: 4,
          pattern: `^(none|[1-9][0-9]{0,${String(max).length - 1}})$`,
        });
      },
    });
}

function flagInQuery(description: string) {
  return z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .meta({ description });
}

/** What a preview of a policy can also change: whether the workspace requires a second factor. */
export const previewedFactor = { requiresSecondFactor: z.boolean().optional() };

/** The parameters of a preview: those that are left out keep their value. */
export const policyQuery = {
  requiresSecondFactor: flagInQuery(
    "Whether the workspace would require a second factor, which you change with the workspace.",
  ),
  maxLifetimeDays: daysInQuery(fields.maxLifetimeDays, policyLimits.maxLifetimeDays),
  isExpiryRequired: flagInQuery("Whether keys must expire."),
  areIpRangesRequired: flagInQuery("Whether keys must be restricted to IP ranges."),
  maxIdleDays: daysInQuery(fields.maxIdleDays, policyLimits.maxIdleDays),
};

/** The rule of a workspace that a key violates. */
export const violation = z.enum(policyRules).meta({
  description:
    "`second-factor-required`: the workspace requires a second factor, and the owner of the key has none. `expiry-required`: the key never expires. `max-lifetime`: it expires too late. `ip-ranges-required`: it isn't restricted to IP ranges. `idle`: it hasn't been used in the workspace for too long.",
  example: "expiry-required",
});
