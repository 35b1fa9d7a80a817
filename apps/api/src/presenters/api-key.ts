import { permissions } from "@latchkey/auth/permissions";
import type { ApiKey } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import { restrictionLimits } from "@latchkey/limits";
import { z } from "zod";
import { keyId as anyKeyId } from "../fields.ts";
import { shownId, timestamp, version } from "../schemas.ts";

const limit = z
  .object({
    quota: z.int().min(1).meta({ description: "Requests a window.", example: 100 }),
    windowSeconds: z.int().min(1).max(restrictionLimits.maxWindowSeconds).meta({ example: 60 }),
  })
  .meta({ id: "KeyLimit" });

const formerSecret = z
  .object({
    start: z.string().meta({ description: "Its first characters.", example: "lk_Zx81Qp" }),
    retiredAt: timestamp,
    goodUntil: timestamp,
    lastUsedAt: timestamp.nullable().meta({ description: "Good to a minute." }),
  })
  .meta({ id: "FormerSecret" });

/** An API key as its user sees it. */
export const apiKey = z
  .object({
    id: shownId("key"),
    name: z.string().meta({ example: "CI deploys" }),
    description: z.string().meta({ example: "Used by the deploy job." }),
    start: z
      .string()
      .meta({ description: "The secret’s first characters, to recognise it by.", example: "lk_4fTq0a" }),
    createdAt: timestamp,
    lastUsedAt: timestamp.nullable(),
    usageCount: z.int().min(0).meta({ description: "Requests admitted with it, exactly.", example: 42 }),
    isDisabled: z.boolean(),
    expiresAt: timestamp.nullable().meta({ description: "Null for never." }),
    workspaceIds: z
      .array(shownId("workspace"))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({ description: "The workspaces that it can access, if its user can; null for all of them." }),
    permissions: z
      .array(z.string().meta({ example: permissions[0] }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({
        description: "The permissions that it has, if its user has them; null for all of them.",
      }),
    isReadOnly: z.boolean().meta({ description: "Whether it has only permissions that end in `:read`." }),
    ipRanges: z
      .array(z.string().meta({ example: "203.0.113.0/24" }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({
        description: "Where it can be used from, in CIDR notation; null for anywhere.",
      }),
    limit: limit.nullable().meta({ description: "Null for no limit." }),
    formerSecrets: z
      .array(formerSecret)
      .meta({ description: "Secrets that it had before and that are still good." }),
    rotatedOutUse: z
      .object({ at: timestamp, address: z.string().nullable().meta({ example: "203.0.113.7" }) })
      .nullable()
      .meta({ description: "When a secret whose time was over was last presented, and from where." }),
    version,
  })
  .meta({ id: "ApiKey" });

/** A response with a key. Uses change what it says of them all the time, and must not get in the way of an edit. */
export const apiKeyResponse = {
  status: 200,
  schema: apiKey,
  hasEtag: true,
  notInEtag: ["usageCount", "lastUsedAt"],
} as const;

/** The parameters of a path to a key. */
export const ofKey = z.strictObject({
  keyId: anyKeyId.meta({ ...shownId("key").meta(), description: "The id of the API key." }),
});

export function presentKey(key: ApiKey): z.input<typeof apiKey> {
  return {
    id: encodeId("key", key.id),
    name: key.name,
    description: key.description,
    start: key.start,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    usageCount: key.usageCount,
    isDisabled: key.isDisabled,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    workspaceIds: key.workspaceIds?.map((id) => encodeId("workspace", id)) ?? null,
    permissions: key.permissions && [...key.permissions],
    isReadOnly: key.isReadOnly,
    ipRanges: key.ipRanges && [...key.ipRanges],
    limit: key.limit,
    formerSecrets: key.formerSecrets.map(({ start, retiredAt, goodUntil, lastUsedAt }) => ({
      start,
      retiredAt: retiredAt.toISOString(),
      goodUntil: goodUntil.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
    rotatedOutUse: key.rotatedOutUse && {
      at: key.rotatedOutUse.at.toISOString(),
      address: key.rotatedOutUse.address,
    },
    version: key.version,
  };
}
