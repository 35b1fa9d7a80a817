import type { VerificationResult, VerifiedKey } from "@latchkey/auth/verification";
import { encodeId, type IssuedKeyId, type KeyId } from "@latchkey/db/ids";
import { issuedKeyLimits, maxLength, verificationLimits } from "@latchkey/limits";
import { z } from "zod";
import { shownId, shownText, timestamp } from "../schemas.ts";
import { shownPermissions } from "./issued-key-settings.ts";

const exampleOf = (kind: "issuedKey" | "keyspace" | "workspace") => shownId(kind).meta()?.example;

/** The result of a valid key. */
const example = {
  valid: true,
  code: "VALID",
  keyId: exampleOf("issuedKey"),
  keyspaceId: exampleOf("keyspace"),
  workspaceId: exampleOf("workspace"),
  externalId: "customer_42",
  name: "Production",
  meta: { plan: "pro" },
  permissions: ["documents.read"],
  expiresAt: "2027-03-01T09:30:00.000Z",
  credits: { remaining: 999 },
  limits: [{ name: "requests", quota: 100, remaining: 99, resetsInSeconds: 60, isExceeded: false }],
};

/** The result of verifying a key. */
export const verificationResult = z
  .object({
    valid: z.boolean().meta({ description: "Whether `code` is `VALID`." }),
    code: z
      .enum([
        "VALID",
        "NOT_FOUND",
        "DISABLED",
        "EXPIRED",
        "FORBIDDEN",
        "INSUFFICIENT_PERMISSIONS",
        "RATE_LIMITED",
        "USAGE_EXCEEDED",
      ])
      .meta({
        description:
          "Why the key is valid or not. The checks are made in this order: `NOT_FOUND` (no such key, or you may not verify it; all other fields are null or empty), `DISABLED` (the key, its keyspace or its workspace; an API key also if it is blocked or violates the workspace's policy, or its owner is disabled), `EXPIRED`, `FORBIDDEN` (the IP address is in none of the key's ranges, or `clientIp` is missing), `INSUFFICIENT_PERMISSIONS`, `RATE_LIMITED`, `USAGE_EXCEEDED` (too few credits), `VALID`. Only a valid key spends anything.",
      }),
    keyId: shownId("key", "issuedKey")
      .nullable()
      .meta({ description: "The ID of the issued key, or of an API key, for which `keyspaceId` is null." }),
    keyspaceId: shownId("keyspace").nullable(),
    workspaceId: shownId("workspace").nullable(),
    externalId: shownText(maxLength.externalId).nullable().meta({
      description: "The consumer that the key was issued to; null for none.",
      example: "customer_42",
    }),
    name: shownText(maxLength.issuedKeyName).nullable().meta({ example: "Production" }),
    meta: z
      .record(shownText(maxLength.metaName), z.unknown())
      .nullable()
      .meta({ example: { plan: "pro" } }),
    permissions: shownPermissions,
    expiresAt: timestamp.nullable().meta({ description: "When the key expires; null for never." }),
    credits: z
      .object({ remaining: z.int().min(0) })
      .nullable()
      .meta({ description: "The credits after this verification; null for a key without credits." }),
    limits: z
      .array(
        z.object({
          name: shownText(maxLength.limitName).meta({ example: "requests" }),
          quota: z.int().min(1).meta({ example: 100 }),
          remaining: z.int().min(0).meta({ example: 99 }),
          resetsInSeconds: z.int().min(0).meta({
            description:
              "When the window ends; 0 if none is open. A cost above `quota` is rejected in every window, so don't retry it.",
            example: 60,
          }),
          isExceeded: z.boolean().meta({ description: "Whether this limit rejected the verification." }),
        }),
      )
      .max(issuedKeyLimits.maxNamedLimits * 2)
      .meta({
        description: "The limits that apply, of the key and then of its consumer, after this verification.",
      }),
  })
  .meta({
    id: "VerificationResult",
    example,
  });

const nothing = {
  keyId: null,
  keyspaceId: null,
  workspaceId: null,
  externalId: null,
  name: null,
  meta: null,
  permissions: [],
  expiresAt: null,
  credits: null,
  limits: [],
};

/** The results of a batch. The example has two valid verifications, of which the second one costs 5. */
export const verificationResults = z
  .object({ data: z.array(verificationResult).max(verificationLimits.maxVerifications) })
  .meta({
    example: {
      data: [
        example,
        { ...example, credits: { remaining: 994 }, limits: [{ ...example.limits[0], remaining: 94 }] },
      ],
    },
  });

type PresentedVerification = z.input<typeof verificationResult>;
/** The fields that depend on what the verification spent. */
type PresentedMeters = Pick<PresentedVerification, "credits" | "limits">;
/** The fields that every verification of the same key has. */
type PresentedKey = Omit<PresentedVerification, "valid" | "code" | keyof PresentedMeters>;

export function presentVerification(result: VerificationResult): PresentedVerification {
  if (result.code === "NOT_FOUND") return { valid: false, code: result.code, ...nothing };
  const { code, key } = result;
  return { valid: code === "VALID", code, ...presentKey(key), ...presentMeters(result) };
}

/**
 * Formats a result as JSON: what `JSON.stringify(presentVerification(result))` returns. This exists for speed only: the fields of a key
 * are formatted once, and not in each response (docs/decisions/0075). A test compares both.
 */
export function formatVerification(result: VerificationResult): string {
  if (result.code === "NOT_FOUND") return notFoundText;
  const { code, key, remainingCredits, limits } = result;
  const meters =
    remainingCredits === null && limits.length === 0 ? noMetersText : formatFields(presentMeters(result));
  return `{"valid":${code === "VALID"},"code":"${code}",${formatKey(key)},${meters}}`;
}

const notFoundText = JSON.stringify(presentVerification({ code: "NOT_FOUND" }));
const noMetersText = formatFields({ credits: null, limits: [] } satisfies PresentedMeters);
const keyTexts = new WeakMap<VerifiedKey, string>();

function formatKey(key: VerifiedKey): string {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const text = formatFields(presentKey(key));
  keyTexts.set(key, text);
  return text;
}

/** Formats the fields of an object, without its braces. */
function formatFields(fields: PresentedKey | PresentedMeters): string {
  return JSON.stringify(fields).slice(1, -1);
}

function presentKey(key: VerifiedKey): PresentedKey {
  return {
    // An API key belongs to no keyspace.
    keyId:
      key.keyspaceId === null
        ? encodeId("key", key.keyId as KeyId)
        : encodeId("issuedKey", key.keyId as IssuedKeyId),
    keyspaceId: key.keyspaceId && encodeId("keyspace", key.keyspaceId),
    workspaceId: encodeId("workspace", key.workspaceId),
    externalId: key.externalId,
    name: key.name,
    meta: key.meta,
    permissions: [...key.permissions],
    expiresAt: key.expiresAt?.toISOString() ?? null,
  };
}

function presentMeters({
  remainingCredits,
  limits,
}: Pick<Exclude<VerificationResult, { code: "NOT_FOUND" }>, "remainingCredits" | "limits">): PresentedMeters {
  return {
    credits: remainingCredits === null ? null : { remaining: remainingCredits },
    limits: limits.map(({ name, quota, remaining, resetsInSeconds, isExceeded }) => ({
      name,
      quota,
      remaining,
      resetsInSeconds,
      isExceeded,
    })),
  };
}
