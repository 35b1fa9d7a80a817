import { maxValidFormerSecrets } from "@latchkey/db/api-key-changes";
import { encodeId } from "@latchkey/db/ids";
import type { IssuedFieldName } from "@latchkey/db/issued-key-settings";
import { issuedKeyStatuses } from "@latchkey/db/issued-key-status";
import type { IssuedKey } from "@latchkey/db/issued-keys";
import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import { z } from "zod";
import { toCredits } from "../domain/issued-key-details.ts";
import type { IssuedKeyWithSecret } from "../domain/issued-keys.ts";
import { secretStatus, shownId, shownText, timestamp, version } from "../schemas.ts";
import { shownCredits, shownLimits, shownPermissions } from "./issued-key-settings.ts";

const shownStart = shownText(maxLength.issuedKeyStart);

/** The status of an issued key. */
const issuedKeyStatus = z.enum(issuedKeyStatuses);

/** A schema for each field of an issued key, and others for what isn't set. */
type PresentedFields = Readonly<Record<IssuedFieldName, z.ZodType>> & Readonly<Record<string, z.ZodType>>;

/** An issued key. */
export const issuedKey = z
  .object({
    id: shownId("issuedKey"),
    keyspaceId: shownId("keyspace"),
    name: shownText(maxLength.issuedKeyName).meta({ description: "Empty for none.", example: "Acme" }),
    start: shownStart.meta({
      description: "The first characters of the secret, to recognize it.",
      example: "sk_live_4fTq0a",
    }),
    externalId: shownText(maxLength.externalId).nullable().meta({
      description: "The consumer that the key belongs to; null for none.",
      example: "customer_42",
    }),
    meta: z
      .record(shownText(maxLength.metaName), z.unknown())
      .meta({ description: "Data of your own.", example: { plan: "pro" } }),
    permissions: shownPermissions.meta({ description: "What the key allows in your API." }),
    limits: shownLimits.meta({ description: "The rate limits of the key." }),
    credits: shownCredits
      .nullable()
      .meta({ description: "How much the key can still be used; null for no credits." }),
    expiresAt: timestamp.nullable().meta({ description: "When the key expires; null for never." }),
    isDisabled: z.boolean().meta({ description: "Whether the key is disabled.", example: false }),
    ipRanges: z
      .array(shownText(maxLength.ipRange).meta({ example: "203.0.113.0/24" }))
      .meta({ maxItems: issuedKeyLimits.maxIpRanges })
      .nullable()
      .meta({ description: "The IP ranges that the key can be used from; null for any IP address." }),
    status: issuedKeyStatus.meta({
      description:
        "Why the key is not valid, or `active`. If several reasons apply, the first one of `disabled`, `expired` and `out-of-credits`. A disabled keyspace or workspace doesn't change it.",
      example: "active",
    }),
    createdAt: timestamp,
    lastUsedAt: timestamp.nullable().meta({ description: "When the key was last used; null for never." }),
    usageCount: z.int().min(0).meta({
      description:
        "The exact number of uses: valid verifications that spent something. Checks, whose costs are all 0, and retries aren't uses.",
      example: 42,
    }),
    formerSecrets: z
      .array(
        z.object({
          start: shownStart.meta({
            description: "The first characters of the secret.",
            example: "sk_live_Zx81Qp",
          }),
          retiredAt: timestamp.meta({ description: "When a rotation replaced the secret." }),
          goodUntil: timestamp.meta({ description: "When the overlap ends. The secret is then not valid." }),
        }),
      )
      .meta({ maxItems: maxValidFormerSecrets, description: "Old secrets that are still valid." }),
    version: version.meta({
      description:
        "Increases with every edit that changes something, and with every rotation and revocation of old secrets. Uses and `POST …/credits` don't change it. In quotes, `If-Match` accepts it instead of an `ETag`.",
    }),
  } satisfies PresentedFields)
  .meta({ id: "IssuedKey" });

/** Fields that every use of a key changes. They don't change the `ETag`; the balance of credits does. */
export const issuedKeyUses = ["lastUsedAt", "usageCount"] as const;

/** An issued key whose secret was just created. */
export const issuedKeyWithSecret = issuedKey
  .extend({
    key: shownText(maxLength.keyspacePrefix + 37)
      .optional()
      .meta({
        description: "The secret. It is shown only in this response. Absent if `secretStatus` is `omitted`.",
        example: "sk_live_0123456789ABCDEFGHIJabcdefghij0fnBqW",
      }),
    secretStatus,
  })
  .meta({ id: "IssuedKeyWithSecret" });

export function presentIssuedKey(shown: IssuedKey): z.input<typeof issuedKey> {
  return {
    id: encodeId("issuedKey", shown.id),
    keyspaceId: encodeId("keyspace", shown.keyspaceId),
    name: shown.name,
    start: shown.start,
    externalId: shown.externalId,
    meta: { ...shown.meta },
    permissions: [...shown.permissions],
    limits: [...shown.limits],
    credits: toCredits(shown),
    expiresAt: shown.expiresAt?.toISOString() ?? null,
    isDisabled: shown.isDisabled,
    ipRanges: shown.ipRanges && [...shown.ipRanges],
    status: shown.status,
    createdAt: shown.createdAt.toISOString(),
    lastUsedAt: shown.lastUsedAt?.toISOString() ?? null,
    usageCount: shown.usageCount,
    formerSecrets: shown.formerSecrets.map(({ start, retiredAt, goodUntil }) => ({
      start,
      retiredAt: retiredAt.toISOString(),
      goodUntil: goodUntil.toISOString(),
    })),
    version: shown.version,
  };
}

export function presentIssuedKeyWithSecret({ issuedKey: shown, secret }: IssuedKeyWithSecret) {
  return { ...presentIssuedKey(shown), key: secret, secretStatus: "issued" as const };
}
