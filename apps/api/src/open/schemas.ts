import type { Role } from "@latchkey/db/schema";
import { z } from "zod";

/** A time in ISO 8601, in UTC. */
export const timestamp = z.iso.datetime().meta({ example: "2026-03-01T09:30:00.000Z" });

/**
 * An address that we made ourselves. To take it apart again, as `z.url()` does to see that it is one, would take longer
 * than everything else about an answer.
 */
export const ownAddress = z.string().meta({ format: "uri" });

/** A role in a workspace, from most to least powerful. */
export const role = z.enum(["owner", "admin", "member", "viewer"] as const satisfies Role[]);

const maxPageSize = 100;

/** The query of every list: how many, and from where. */
export const pageQuery = z.strictObject({
  limit: z.coerce
    .number("must be a whole number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(maxPageSize, `must be at most ${maxPageSize}`)
    .default(25)
    .meta({ description: "How many to answer at most." }),
  cursor: z
    .string()
    .max(256)
    .optional()
    .meta({ description: "Where to go on: the `nextCursor` of the page before, as it is." }),
});

/** The answer of every list. */
export function pageOf<Item extends z.ZodObject>(item: Item) {
  return z.object({
    data: z.array(item),
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: "Pass it as `cursor` for the next page; null on the last one." }),
    hasMore: z.boolean(),
  });
}
