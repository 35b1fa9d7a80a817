import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { KeyFacts, Membership } from "./decision.ts";

/** The facts of a key without restrictions, whose user is in no workspace. */
export const validFacts: KeyFacts = {
  keyId: "key" as KeyId,
  userId: "user" as UserId,
  version: 1,
  ownerVersion: 0,
  isDeleted: false,
  isUserDisabled: false,
  isServiceWorkspaceDisabled: false,
  isDisabled: false,
  isExpired: false,
  isFormerSecret: false,
  hasOverlapEnded: false,
  isUnusedSecret: false,
  validUntil: null,
  expiresAt: null,
  overlapEndsAt: null,
  limit: null,
  restrictions: undefined,
  isRestricted: false,
  memberships: new Map(),
};

/** A membership in a workspace that accepts the key. */
export function membershipAs(role: Role, change: Partial<Membership> = {}): Membership {
  return { role, isWorkspaceDisabled: false, isBlocked: false, violation: null, idleAt: null, ...change };
}
