import { apiKeyStartLength } from "@latchkey/auth/key-format";
import { permissions } from "@latchkey/auth/permissions";
import { encodeId } from "@latchkey/db/ids";
import type { WorkspaceKey } from "@latchkey/db/workspace-keys";
import { maxLength, restrictionLimits } from "@latchkey/limits";
import { z } from "zod";
import { keyId, role } from "../fields.ts";
import { violation } from "../policy-fields.ts";
import {
  shownId,
  shownIdentifier,
  shownPersonName,
  shownText,
  shownUserEmail,
  shownUserKind,
  timestamp,
  workspaceParams,
} from "../schemas.ts";
import { keyLimit } from "./api-key.ts";

/** An API key as the admins of a workspace that it can reach see it. */
export const workspaceKey = z
  .object({
    id: shownId("key"),
    name: shownText(maxLength.keyName).meta({ example: "CI deploys" }),
    start: shownText(apiKeyStartLength).meta({
      description: "The first characters of the secret, to recognize it.",
      example: "lk_4fTq0a",
    }),
    owner: z.object({
      id: shownId("user"),
      name: shownPersonName.meta({ example: "Ada Lovelace" }),
      kind: shownUserKind,
      email: shownUserEmail,
      role: role.meta({ example: "member" }),
      isDisabled: z.boolean().meta({ description: "Whether the user is disabled." }),
    }),
    createdAt: timestamp,
    expiresAt: timestamp.nullable().meta({ description: "When the key expires; null for never." }),
    isDisabled: z.boolean().meta({ description: "Whether the key is disabled." }),
    isBlocked: z
      .boolean()
      .meta({ description: "Whether an admin blocked the key from the workspace.", example: false }),
    blockedAt: timestamp.nullable(),
    blockedByName: shownPersonName.nullable().meta({
      description: "The user who blocked it; null for the `latchkey` command and a deleted user.",
      example: "Grace Hopper",
    }),
    blockedByKind: shownUserKind.nullable().meta({
      description: "Whether a person or a service account blocked it; null if `blockedByName` is null.",
    }),
    violation: violation.nullable().meta({
      description: `The rule of the workspace that rejects the key. ${violation.description}`,
    }),
    hasSelectedWorkspaces: z
      .boolean()
      .meta({ description: "Whether the key is restricted to selected workspaces, including this one." }),
    permissions: z
      .array(shownIdentifier.meta({ example: permissions[0] }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({ description: "The permissions that the key is restricted to; null for all of its owner's." }),
    isReadOnly: z
      .boolean()
      .meta({ description: "Whether the key has only permissions that end in `:read`." }),
    ipRanges: z
      .array(shownText(maxLength.ipRange).meta({ example: "203.0.113.0/24" }))
      .meta({ maxItems: restrictionLimits.maxItems })
      .nullable()
      .meta({ description: "The IP ranges that the key can be used from; null for any IP address." }),
    limit: keyLimit.nullable().meta({ description: "The rate limit; null for none." }),
    isRotating: z.boolean().meta({ description: "Whether an old secret is still valid." }),
    isRateLimited: z.boolean().meta({
      description:
        "Whether a request in the workspace was rate limited in this clock hour or the one before, in UTC.",
    }),
    recentUses: z
      .int()
      .min(0)
      .meta({ description: "Requests allowed in the workspace in the last 30 days.", example: 42 }),
    lastUsedAt: timestamp.nullable().meta({
      description:
        "The beginning of the hour of the last use in the workspace, in UTC; null for none. Uses are deleted after `HISTORY_DAYS`.",
    }),
  })
  .meta({ id: "WorkspaceApiKey" });

/** The parameters of a path to a key in a workspace. */
export const workspaceKeyParams = workspaceParams.extend({
  keyId: keyId.meta({ ...shownId("key").meta(), description: "The ID of the API key." }),
});

/** Presents a key of a workspace for the open API and the web app. */
export function presentWorkspaceKey(key: WorkspaceKey): z.input<typeof workspaceKey> {
  return {
    id: encodeId("key", key.id),
    name: key.name,
    start: key.start,
    owner: {
      id: encodeId("user", key.ownerId),
      name: key.ownerName,
      kind: key.ownerKind,
      email: key.ownerEmail,
      role: key.ownerRole,
      isDisabled: key.isOwnerDisabled,
    },
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    isDisabled: key.isDisabled,
    isBlocked: key.isBlocked,
    blockedAt: key.blockedAt?.toISOString() ?? null,
    blockedByName: key.blockedByName,
    blockedByKind: key.blockedByKind,
    violation: key.violation,
    hasSelectedWorkspaces: key.hasSelectedWorkspaces,
    permissions: key.permissions && [...key.permissions],
    isReadOnly: key.isReadOnly,
    ipRanges: key.ipRanges && [...key.ipRanges],
    limit: key.limit,
    isRotating: key.isRotating,
    isRateLimited: key.isRateLimited,
    recentUses: key.recentUses,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
