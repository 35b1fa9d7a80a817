import { apiKeyStartLength } from "@latchkey/auth/key-format";
import type { PolicyPreview, RejectedKey, StoredPolicy } from "@latchkey/db/api-key-policies";
import { encodeId } from "@latchkey/db/ids";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { policyFields, violation } from "../policy-fields.ts";
import { shownId, shownPersonName, shownText, shownUserKind, timestamp, version } from "../schemas.ts";

/** The policy of a workspace for the API keys that reach it. */
export const apiKeyPolicy = z.object({ ...policyFields, version }).meta({ id: "ApiKeyPolicy" });

export function presentPolicy(policy: StoredPolicy): z.input<typeof apiKeyPolicy> {
  const { maxLifetimeDays, isExpiryRequired, areIpRangesRequired, maxIdleDays } = policy;
  return { maxLifetimeDays, isExpiryRequired, areIpRangesRequired, maxIdleDays, version: policy.version };
}

const rejectedKey = z
  .object({
    id: shownId("key"),
    name: shownText(maxLength.keyName).meta({ example: "CI deploys" }),
    start: shownText(apiKeyStartLength).meta({
      description: "The first characters of the secret.",
      example: "lk_4fTq0a",
    }),
    owner: z.object({
      id: shownId("user"),
      name: shownPersonName.meta({ example: "Ada Lovelace" }),
      kind: shownUserKind,
    }),
    violation,
    lastUsedAt: timestamp.nullable().meta({
      description:
        "The beginning of the hour of the last use in the workspace, in UTC; null for none. Uses are deleted after `HISTORY_DAYS`.",
    }),
  })
  .meta({ id: "StoppedApiKey" });

/** The most keys in a preview of a policy. */
export const maxRejectedKeys = 20;

/** The keys that a policy would reject. */
export const policyPreview = z
  .object({
    keys: z.array(rejectedKey).meta({
      description: `The keys that work in the workspace and that the policy would reject, last used first; at most ${maxRejectedKeys}.`,
      maxItems: maxRejectedKeys,
    }),
    total: z.int().min(0).meta({ description: "The number of all such keys.", example: 3 }),
    isComplete: z.boolean().meta({
      description:
        "False if more than 10,000 keys can reach the workspace. Only the newest ones are examined.",
      example: true,
    }),
  })
  .meta({ id: "ApiKeyPolicyPreview" });

export function presentPreview({ keys, total, isComplete }: PolicyPreview): z.input<typeof policyPreview> {
  return { keys: keys.map(presentRejectedKey), total, isComplete };
}

export function presentRejectedKey(key: RejectedKey): z.input<typeof rejectedKey> {
  return {
    id: encodeId("key", key.id),
    name: key.name,
    start: key.start,
    owner: { id: encodeId("user", key.ownerId), name: key.ownerName, kind: key.ownerKind },
    violation: key.violation,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
