import type { WorkspaceId } from "@latchkey/db/ids";
import type { KeyFacts } from "../admission/decision.ts";
import { listPermissions } from "../permissions.ts";
import { allowsAddress, allowsPermission, allowsWorkspace } from "../restrictions.ts";
import { compilePermissions } from "./permission-query.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

/** The name of the only limit of an API key, which its counter stores in columns of its own. */
export const apiKeyLimitName = "";

/**
 * An API key as a key to verify in a workspace: its permissions are those that it has there. Undefined if it doesn't reach the
 * workspace, or the presented secret is no longer one of its secrets.
 */
export function toApiKeyTarget(facts: KeyFacts, workspaceId: WorkspaceId): VerifiableKey | undefined {
  const { restrictions, limit, userId, ownerVersion } = facts;
  const membership = facts.memberships.get(workspaceId);
  if (facts.isDeleted || facts.hasOverlapEnded || !membership || !allowsWorkspace(restrictions, workspaceId))
    return undefined;
  const permissions = listPermissions(membership.role).filter((name) => allowsPermission(restrictions, name));
  return {
    keyId: facts.keyId,
    workspaceId,
    keyspaceId: null,
    version: facts.version,
    owner: { id: userId, version: ownerVersion },
    workspaceVersion: null,
    isDisabled:
      facts.isDisabled ||
      facts.isUserDisabled ||
      membership.isBlocked ||
      membership.violation !== null ||
      membership.isWorkspaceDisabled,
    isUnusedSecret: facts.isUnusedSecret,
    isInUse: true,
    expiresAt: toTime(facts.expiresAt),
    overlapEndsAt: toTime(facts.overlapEndsAt),
    name: null,
    meta: null,
    permissions,
    grantedPermissions: compilePermissions(permissions),
    limits: limit ? [{ name: apiKeyLimitName, ...limit, appliesAlways: true }] : [],
    refill: null,
    hasCredits: false,
    // A key that is already idle or expired is rejected by these facts, so that they stay current.
    idleAt: membership.violation !== null || facts.isExpired ? null : toTime(membership.idleAt),
    allowsAddress: restrictions?.some((rule) => rule.allowsAddress)
      ? (address) => allowsAddress(restrictions, address)
      : undefined,
    ipRangeCount: 0,
    consumer: null,
  };
}

/** Converts a time of facts to milliseconds since the epoch. */
function toTime(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
