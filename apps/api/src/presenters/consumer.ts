import type { Consumer } from "@latchkey/db/consumers";
import { encodeId } from "@latchkey/db/ids";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { shownId, shownText, timestamp, version } from "../schemas.ts";
import { shownLimits } from "./issued-key-settings.ts";

/** A consumer of a workspace's own API. */
export const consumer = z
  .object({
    id: shownId("consumer").meta({ description: "Identifies the consumer in the audit log." }),
    externalId: shownText(maxLength.externalId).meta({
      description: "The consumer, as your system identifies it.",
      example: "customer_42",
    }),
    keyspaceId: shownId("keyspace"),
    limits: shownLimits.meta({ description: "The rate limits that all keys of the consumer share." }),
    keyCount: z.int().min(0).meta({ description: "The number of keys, whatever their status.", example: 3 }),
    activeKeyCount: z.int().min(0).meta({
      description: "The number of keys that are neither disabled, expired nor out of credits.",
      example: 2,
    }),
    lastUsedAt: timestamp
      .nullable()
      .meta({ description: "When one of its existing keys was last used; null for never." }),
    usageCount: z
      .int()
      .min(0)
      .meta({ description: "The exact number of uses of its existing keys.", example: 42 }),
    createdAt: timestamp,
    version,
  })
  .meta({ id: "Consumer" });

/** Fields that every use of a key of the consumer changes. They don't change the `ETag`; the numbers of keys do. */
export const consumerUses = ["lastUsedAt", "usageCount"] as const;

export function presentConsumer(shown: Consumer): z.input<typeof consumer> {
  return {
    id: encodeId("consumer", shown.id),
    externalId: shown.externalId,
    keyspaceId: encodeId("keyspace", shown.keyspaceId),
    limits: [...shown.limits],
    keyCount: shown.keyCount,
    activeKeyCount: shown.activeKeyCount,
    lastUsedAt: shown.lastUsedAt?.toISOString() ?? null,
    usageCount: shown.usageCount,
    createdAt: shown.createdAt.toISOString(),
    version: shown.version,
  };
}
