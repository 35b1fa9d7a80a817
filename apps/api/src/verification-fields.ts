import { isIP } from "node:net";
import { digestPresented, isWellFormedApiKey } from "@latchkey/auth/key-format";
import { parsePermissionQuery } from "@latchkey/auth/permission-query";
import type { Verification } from "@latchkey/auth/verification";
import { issuedKeyLimits, maxLength, verificationLimits } from "@latchkey/limits";
import { z } from "zod";
import { keyspaceId, workspaceId } from "./fields.ts";
import { unmapIpv4 } from "./http/client-address.ts";
import { customIssue } from "./issues.ts";
import { tagPattern } from "./read-verification.ts";
import { shownId } from "./schemas.ts";

const { maxCost, maxQueryLength, maxPresentedLength, maxTags, maxTagLength } = verificationLimits;

/** What a verification spends. */
export const verificationCost = z.int().min(0).max(maxCost);

const permissionQuery = z
  .string()
  .max(maxQueryLength)
  .meta({ pattern: "^[A-Za-z0-9_:.()\\s-]*$" })
  .transform((text, context) => {
    const query = parsePermissionQuery(text);
    if (query.kind !== "error") return query;
    const message = `Character ${query.position}: ${query.message}`;
    context.addIssue({ code: "custom", ...customIssue("invalid_format", message) });
    return z.NEVER;
  });

const tag = z
  .string()
  .min(1)
  .max(maxTagLength)
  .regex(tagPattern, "must consist of lower-case letters, digits, and the characters _ . : -");

/** The limits that a verification names, each with an optional cost of its own. */
export const requestedLimits = z
  .array(
    z.strictObject({
      name: z.string().min(1).max(maxLength.limitName).meta({ pattern: "^[a-z0-9_-]+$" }),
      cost: verificationCost
        .meta({ description: "What is spent from this limit instead of `cost`." })
        .exactOptional(),
    }),
  )
  .max(issuedKeyLimits.maxNamedLimits)
  .refine(
    (limits) => new Set(limits.map(({ name }) => name)).size === limits.length,
    customIssue("invalid_value", "Name each limit once."),
  )
  .meta({
    description:
      "Limits that apply in addition to those that always apply. The key or its consumer must have a limit with each name. Each name can occur once.",
    example: [{ name: "exports", cost: 5 }],
  });

/** One key to verify, and what it is verified for. */
export const verificationRequest = z.strictObject({
  // A consumer chooses it. A text that can't be a key is not found, so that it doesn't fail the other keys of the request.
  key: z.string().max(maxPresentedLength).meta({
    pattern: "^[\\s\\S]*$",
    description:
      "The whole key, as the consumer sent it. The result of a string that can't be a key, such as an empty string or one of more than 512 characters, is `NOT_FOUND`. Send an empty string instead of a longer one, because a request body can have at most 100 KiB.",
  }),
  keyspaceId: keyspaceId
    .meta({
      ...shownId("keyspace").meta(),
      description:
        "The keyspace that the key must belong to. Any that you may verify, by default. Name it or `workspaceId` if your API key reaches several workspaces: another one can store the same key with other values.",
    })
    .exactOptional(),
  workspaceId: workspaceId
    .meta({
      ...shownId("workspace").meta(),
      description:
        "The workspace that the key must belong to. Any in which you may verify keys, by default. Name it or `keyspaceId` if your API key reaches several workspaces: another one can store the same key with other values. An API key (`lk_…`) is verified only with its workspace, and has there the permissions of its owner.",
    })
    .exactOptional(),
  permissions: permissionQuery
    .meta({
      description:
        "The permissions that the key must have, as a query with `AND`, `OR` and parentheses. `AND` takes precedence over `OR`. At most 50 permissions of at most 128 characters each.",
      example: "documents.read AND (documents.write OR admin)",
    })
    .exactOptional(),
  cost: verificationCost
    .meta({
      description:
        "What a valid key spends: from its credits, and from each limit that applies and has no cost of its own in `limits`. If this cost and those in `limits` are all 0, the key is only checked: nothing is spent, and no use is counted. If the key is valid, even then, a retry of the request that issued its secret doesn't replace the secret, except for a retry of the creation of an API key.",
    })
    .default(1),
  limits: requestedLimits.default([]),
  clientIp: z
    .string()
    .max(maxLength.ipAddress)
    .refine((text) => isIP(text) !== 0, customIssue("invalid_format", "must be an IP address"))
    .meta({
      pattern: "^[0-9A-Fa-f:.]+(%[0-9A-Za-z.:-]+)?$",
      description: "The IP address of the consumer. A key with IP ranges is rejected without it.",
      example: "192.0.2.7",
    })
    .exactOptional(),
  tags: z
    .array(tag)
    .max(maxTags)
    .refine((tags) => new Set(tags).size === tags.length, customIssue("invalid_value", "Name each tag once."))
    .meta({
      description:
        "What the verification is counted under in the usage of the keyspace, such as the endpoint or the region of your API. Tags don't affect the result. Each can occur once.",
      example: ["endpoint:exports", "region:eu"],
    })
    .default([]),
});

/** What the verifier needs to verify one key. The key itself is not passed on. */
export function toVerification(request: z.output<typeof verificationRequest>): Verification {
  const { key, keyspaceId, workspaceId, permissions, cost, limits, clientIp, tags } = request;
  return {
    digest: digestPresented(key),
    isApiKey: isWellFormedApiKey(key),
    keyspaceId,
    workspaceId,
    permissions,
    cost,
    limits: limits.map(({ name, cost }) => ({ name, cost })),
    clientAddress: unmapIpv4(clientIp),
    tags,
  };
}
