import { encodeId } from "@latchkey/db/ids";
import { maxExaminedKeys } from "@latchkey/db/keyspace-last-use";
import type { Keyspace } from "@latchkey/db/keyspaces";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import type { KeyspaceImpact } from "../domain/keyspaces.ts";
import { shownId, shownText, timestamp, version } from "../schemas.ts";
import { shownCredits, shownLimits, shownPermissions } from "./issued-key-settings.ts";

/** A keyspace of a workspace. */
export const keyspace = z
  .object({
    id: shownId("keyspace"),
    name: shownText(maxLength.keyspaceName).meta({ example: "Production" }),
    prefix: shownText(maxLength.keyspacePrefix).meta({
      description: "The secrets of new keys start with this prefix and an underscore.",
      example: "sk_live",
    }),
    environment: shownText(maxLength.keyspaceEnvironment).meta({
      description: "A label; empty for none.",
      example: "production",
    }),
    defaultLifetimeDays: z.int().nullable().meta({
      description: "The number of days after which a key issued without an expiry expires; null for never.",
      example: 365,
    }),
    defaultPermissions: shownPermissions.meta({
      description: "The permissions of a key that is issued without permissions.",
    }),
    defaultLimits: shownLimits.meta({ description: "The limits of a key that is issued without limits." }),
    defaultCredits: shownCredits
      .nullable()
      .meta({ description: "The credits of a key that is issued without credits; null for none." }),
    isDisabled: z.boolean().meta({
      description: "Whether the keyspace is disabled, so that none of its keys is valid.",
      example: false,
    }),
    disabledAt: timestamp.nullable().meta({ example: null }),
    keyCount: z.int().meta({ description: "The number of keys, whatever their status.", example: 1_250 }),
    createdAt: timestamp,
    version,
  })
  .meta({ id: "Keyspace" });

export function presentKeyspace(shown: Keyspace): z.input<typeof keyspace> {
  return {
    id: encodeId("keyspace", shown.id),
    name: shown.name,
    prefix: shown.prefix,
    environment: shown.environment,
    defaultLifetimeDays: shown.defaultLifetimeDays,
    defaultPermissions: [...shown.defaultPermissions],
    defaultLimits: [...shown.defaultLimits],
    defaultCredits: shown.defaultCredits,
    isDisabled: shown.disabledAt !== null,
    disabledAt: shown.disabledAt?.toISOString() ?? null,
    keyCount: shown.keyCount,
    createdAt: shown.createdAt.toISOString(),
    version: shown.version,
  };
}

const examined = maxExaminedKeys.toLocaleString("en");

/** What the deletion of a keyspace affects. */
export const keyspaceDeletionPreview = z
  .object({
    keyCount: z.int().meta({ description: "The number of keys that are deleted.", example: 1_250 }),
    activeKeyCount: z.int().meta({
      description: `The number of these keys that are neither disabled, expired nor out of credits. They work now, unless the keyspace is disabled. With more than ${examined} keys, only the newest ${examined} are counted.`,
      example: 1_100,
    }),
    isActiveKeyCountPartial: z.boolean().meta({
      description: `Whether there are more than ${examined} keys, so that \`activeKeyCount\` doesn't count all of them.`,
      example: false,
    }),
    lastUsedAt: timestamp.nullable().meta({
      description: `When one of the keys was last used; null for never. With more than ${examined} keys, it can be rounded down to the hour, and can be the last use of a key that has been deleted.`,
    }),
    isPartial: z.boolean().meta({
      description: `Whether only the newest ${examined} keys were examined: there are more keys, and the history has no use of any of them.`,
      example: false,
    }),
  })
  .meta({ id: "KeyspaceDeletionPreview" });

export function presentKeyspaceImpact(impact: KeyspaceImpact): z.input<typeof keyspaceDeletionPreview> {
  return {
    keyCount: impact.keyCount,
    activeKeyCount: impact.activeKeyCount,
    isActiveKeyCountPartial: impact.isActiveKeyCountPartial,
    lastUsedAt: impact.lastUsedAt?.toISOString() ?? null,
    isPartial: impact.isPartial,
  };
}
