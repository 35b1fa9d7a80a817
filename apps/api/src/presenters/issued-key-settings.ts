import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import { z } from "zod";
import { shownText } from "../schemas.ts";

/** The permissions of an issued key in a response. */
export const shownPermissions = z
  .array(shownText(maxLength.issuedPermission).meta({ example: "documents.read" }))
  .meta({ maxItems: issuedKeyLimits.maxPermissions });

/** The limits of an issued key or a consumer in a response. */
export const shownLimits = z
  .array(
    z.object({
      name: shownText(maxLength.limitName).meta({ example: "requests" }),
      quota: z.int().meta({ description: "The maximum cost per window.", example: 100 }),
      windowSeconds: z.int().meta({ example: 60 }),
      appliesAlways: z.boolean().meta({
        description: "Whether the limit applies to every verification, or only to those that name it.",
        example: true,
      }),
    }),
  )
  .meta({ maxItems: issuedKeyLimits.maxNamedLimits });

/** A balance of credits in a response. */
export const shownCredits = z.object({
  remaining: z.int().meta({ description: "The balance.", example: 1_000 }),
  refill: z
    .object({
      amount: z.int().meta({ description: "The balance after a refill.", example: 1_000 }),
      interval: z.enum(["daily", "monthly"]).meta({ example: "monthly" }),
      day: z.int().nullable().meta({ description: "The day of a monthly refill.", example: 1 }),
    })
    .nullable()
    .meta({ description: "When the balance is refilled, at midnight UTC; null for never." }),
});
