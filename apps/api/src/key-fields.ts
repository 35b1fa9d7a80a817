import { isIpRange } from "@latchkey/auth/ip-ranges";
import { permissions } from "@latchkey/auth/permissions";
import { z } from "zod";
import { workspaceId } from "./fields.ts";

const maxItems = 100;
const maxWindowSeconds = 86_400;
const maxQuota = 1_000_000_000;

function setOf<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .min(1, "Name at least one, or null for all.")
    .max(maxItems, `Name at most ${maxItems}.`)
    .transform((items) => [...new Set(items)])
    .nullable();
}

/** When a key expires; null for never. */
const expiresAt = z.iso
  .datetime({ error: "Enter a time in ISO 8601, in UTC, such as 2027-03-01T09:30:00Z." })
  .meta({ example: "2027-03-01T09:30:00Z" })
  .transform((text) => new Date(text))
  .refine((time) => time > new Date(), "Choose a time to come.")
  .nullable();

/** What a key may be held to. Each member may be left out. */
export const keySettings = {
  isDisabled: z.boolean().exactOptional(),
  expiresAt: expiresAt.exactOptional(),
  workspaceIds: setOf(workspaceId.meta({ example: "ws_01h455vb4pex5vsknk084sn02q" })).exactOptional(),
  permissions: setOf(z.enum(permissions, "Not a permission.")).exactOptional(),
  isReadOnly: z.boolean().exactOptional(),
  ipRanges: setOf(
    z
      .string()
      .refine(isIpRange, "Enter an address or a range, such as 10.0.0.0/8.")
      .meta({ example: "203.0.113.0/24" }),
  ).exactOptional(),
  limit: z
    .strictObject({
      quota: z.int().min(1, "Allow at least 1.").max(maxQuota, `Allow at most ${maxQuota}.`),
      windowSeconds: z
        .int()
        .min(1, "At least 1 second.")
        .max(maxWindowSeconds, `At most ${maxWindowSeconds} seconds, which is a day.`),
    })
    .nullable()
    .exactOptional(),
};
