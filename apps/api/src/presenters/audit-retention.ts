import { maxCountedEvents, type RetentionPreview } from "@latchkey/db/audit-retention";
import { z } from "zod";
import { timestamp } from "../schemas.ts";

/** What a retention would delete. */
export const retentionPreview = z
  .object({
    count: z
      .int()
      .min(0)
      .max(maxCountedEvents)
      .meta({ description: "The number of events that would be deleted.", example: 1_204 }),
    isComplete: z.boolean().meta({
      description: `False if there are ${maxCountedEvents.toLocaleString("en-US")} such events or more. The others are not counted.`,
      example: true,
    }),
    oldestAt: timestamp
      .nullable()
      .meta({ description: "When the oldest of them happened; null if none would be deleted." }),
  })
  .meta({ id: "AuditRetentionPreview" });

/** Presents what a retention would delete for the open API and the web app. */
export function presentRetentionPreview({
  count,
  oldestAt,
}: RetentionPreview): z.input<typeof retentionPreview> {
  return { count, isComplete: count < maxCountedEvents, oldestAt: oldestAt?.toISOString() ?? null };
}
