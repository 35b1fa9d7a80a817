import { apiKeyLength, apiKeyStartLength } from "@latchkey/auth/key-format";
import { permissions } from "@latchkey/auth/permissions";
import { maxValidFormerSecrets } from "@latchkey/db/api-key-changes";
import type { ApiKey } from "@latchkey/db/api-keys";
import { encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { SettingName } from "@latchkey/db/key-settings";
import { maxLength, restrictionLimits } from "@latchkey/limits";
import { z } from "zod";
import type { KeyWithSecret } from "../domain/api-key-secrets.ts";
import type { ListedKey } from "../domain/api-keys.ts";
import type { ManagedKeyOwner } from "../domain/service-accounts.ts";
import { keyId as anyKeyId } from "../fields.ts";
import { overlapSeconds } from "../key-fields.ts";
import {
  secretStatus,
  shownAddress,
  shownId,
  shownIdentifier,
  shownText,
  timestamp,
  version,
} from "../schemas.ts";

/** The rate limit of a key. */
export const keyLimit = z
  .object({
    quota: z.int().min(1).meta({ description: "Maximum requests per window.", example: 100 }),
    windowSeconds: z
      .int()
      .min(1)
      .max(restrictionLimits.maxWindowSeconds)
      .meta({ description: "The length of a window, in seconds.", example: 60 }),
  })
  .meta({ id: "KeyLimit" });

const shownStart = shownText(apiKeyStartLength);

const formerSecret = z
  .object({
    start: shownStart.meta({ description: "The first characters of the secret.", example: "lk_Zx81Qp" }),
    retiredAt: timestamp.meta({ description: "When a rotation replaced the secret." }),
    goodUntil: timestamp.meta({ description: "When the overlap ends. The secret is then rejected." }),
    lastUsedAt: timestamp.nullable().meta({ description: "Accurate to a minute." }),
  })
  .meta({ id: "FormerSecret" });

/** A schema for each setting of an API key, and others for what isn't set. */
type PresentedSettings = Readonly<Record<SettingName, z.ZodType>> & Readonly<Record<string, z.ZodType>>;

/** An API key as its owner sees it. */
export const apiKey = z
  .object({
    id: shownId("key"),
    name: shownText(maxLength.keyName).meta({ example: "CI deploys" }),
    description: shownText(maxLength.keyDescription).meta({ example: "Used by the deploy job." }),
    start: shownStart.meta({
      description: "The first characters of the secret, to recognize it.",
      example: "lk_4fTq0a",
    }),
    createdAt: timestamp,
    lastUsedAt: timestamp
      .nullable()
      .meta({ description: "When the last request was allowed; null for never." }),
    usageCount: z
      .int()
      .min(0)
      .meta({ description: "The exact number of requests allowed with the key.", example: 42 }),
    isDisabled: z
      .boolean()
      .meta({ description: "Whether requests with the key are rejected until it is enabled." }),
    expiresAt: timestamp.nullable().meta({ description: "When the key expires; null for never." }),
    workspaceIds: z
      .array(shownId("workspace"))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({
        description:
          "The workspaces that the key can access, if its owner is a member; null for all of the owner's workspaces.",
      }),
    permissions: z
      .array(shownIdentifier.meta({ example: permissions[0] }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({
        description:
          "The permissions of the key, if its owner has them; null for all of the owner's permissions.",
      }),
    isReadOnly: z
      .boolean()
      .meta({ description: "Whether the key has only permissions that end in `:read`." }),
    ipRanges: z
      .array(shownText(maxLength.ipRange).meta({ example: "203.0.113.0/24" }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({
        description:
          "The IP ranges that the key can be used from, in CIDR notation; null for any IP address.",
      }),
    limit: keyLimit.nullable().meta({ description: "The rate limit; null for none." }),
    formerSecrets: z
      .array(formerSecret)
      .meta({ maxItems: maxValidFormerSecrets, description: "Old secrets that are still valid." }),
    rotatedOutUse: z
      .object({ at: timestamp, address: shownAddress.nullable().meta({ example: "203.0.113.7" }) })
      .nullable()
      .meta({
        description:
          "The time and IP address of the last request with an old secret that was no longer valid.",
      }),
    version,
  } satisfies PresentedSettings)
  .meta({ id: "ApiKey" });

/** Fields that every request with the key changes, at any depth. They don't change the `ETag`. */
export const keyUses = ["usageCount", "lastUsedAt"] as const;

/** A response with a key. */
export const apiKeyResponse = { status: 200, schema: apiKey, hasEtag: true, notInEtag: keyUses } as const;

/** The secret of a new or rotated key, and whether the response has it. */
const issuedSecret = {
  key: shownText(apiKeyLength).optional().meta({
    description:
      "The new secret, which is shown only in this response. Absent if `secretStatus` is `omitted`.",
    example: "lk_4fTq0aVb7Xk2mPz9Wc8sYd3nRe5jLg1hQu6t",
  }),
  secretStatus,
};

/** A new key with its secret. */
export const newKey = apiKey.extend(issuedSecret).meta({ id: "NewApiKey" });

/** A rotated key with its new secret. */
export const rotatedKey = apiKey.extend(issuedSecret).meta({ id: "RotatedKey" });

/** How long the old secret of a rotated key stays valid, in the body of a request. */
export const rotation = z.strictObject({
  overlapSeconds: overlapSeconds.default(86_400).meta({
    description: "How long the old secret stays valid, in seconds, from 0 to 2592000 (30 days).",
    example: 86_400,
  }),
});

/** The parameters of a path to a key. */
export const keyParams = z.strictObject({
  keyId: anyKeyId.meta({ ...shownId("key").meta(), description: "The ID of the API key." }),
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

export function presentKeyWithSecret({ apiKey: shown, secret }: KeyWithSecret) {
  return { ...presentKey(shown), key: secret, secretStatus: "issued" as const };
}

/** An API key for the web app, with the service account that owns it; null if the user does. */
export function presentManagedKey(key: ListedKey, { userId, serviceAccount }: ManagedKeyOwner) {
  return {
    ...presentKey(key),
    isRateLimited: key.isRateLimited,
    isOwnerDisabled: serviceAccount?.isDisabled ?? false,
    serviceAccount: serviceAccount
      ? presentOwningAccount({
          userId,
          name: serviceAccount.name,
          workspaceId: serviceAccount.scope.workspaceId,
        })
      : null,
  };
}

/** The service account that owns a key, for the web app. */
export function presentOwningAccount(account: {
  readonly userId: UserId;
  readonly name: string;
  readonly workspaceId: WorkspaceId;
}) {
  return {
    userId: encodeId("user", account.userId),
    name: account.name,
    workspaceId: encodeId("workspace", account.workspaceId),
  };
}
