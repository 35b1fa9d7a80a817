import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { PolicyRule } from "@latchkey/db/key-policy";
import type { Role } from "@latchkey/db/role";
import { type Permission, roleHasPermission } from "../permissions.ts";
import {
  allowsAddress,
  allowsPermission,
  allowsWorkspace,
  limitsAccess,
  type Restrictions,
} from "../restrictions.ts";

/** Everything that decides whether a key is valid, as stored in the database at one instant. */
export interface KeyFacts {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Changes with every change to the facts. A use is counted only if the version is still the same. */
  readonly version: number;
  /**
   * Changes with every change to the key's owner that affects admission by all keys of the owner, and is checked like
   * `version`.
   */
  readonly ownerVersion: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  /** Whether the key belongs to a service account whose workspace an operator disabled. */
  readonly isServiceWorkspaceDisabled: boolean;
  readonly isDisabled: boolean;
  readonly isExpired: boolean;
  /** Whether the presented secret is an old secret of the key. */
  readonly isFormerSecret: boolean;
  /** Whether the overlap of the old secret has ended. */
  readonly hasOverlapEnded: boolean;
  /** Whether the presented secret is the current one and is marked as unused, as after a creation or rotation (docs/decisions/0027). */
  readonly isUnusedSecret: boolean;
  /** When the key expires or the old secret's overlap ends, by the database's clock; null for never. */
  readonly validUntil: string | null;
  /** When the key expires, by the database's clock; null for never. */
  readonly expiresAt: string | null;
  /** When the overlap of the presented old secret ends, by the database's clock; null for the current secret. */
  readonly overlapEndsAt: string | null;
  readonly limit: Limit | null;
  /** The restrictions that the node enforces; undefined for none. */
  readonly restrictions: Restrictions | undefined;
  /** Whether the key has any restriction, including those that the database enforces. */
  readonly isRestricted: boolean;
  /** The user's memberships by workspace. A missing workspace was not looked up, or the user is no member of it. */
  readonly memberships: ReadonlyMap<WorkspaceId, Membership>;
}

/** The versions of a key and of its owner, which change with the facts about the key. */
export type KeyVersions = Pick<KeyFacts, "version" | "ownerVersion">;

/** Whether both facts about a key are equally current. */
export function haveSameVersions(some: KeyVersions, others: KeyVersions): boolean {
  return some.version === others.version && some.ownerVersion === others.ownerVersion;
}

/** What decides about a key in one workspace of its user. */
export interface Membership {
  /** The user's role. */
  readonly role: Role;
  /** Whether an operator disabled the workspace. */
  readonly isWorkspaceDisabled: boolean;
  /** Whether an admin blocked the key from the workspace. */
  readonly isBlocked: boolean;
  /** The rule of the workspace's policy that the key violated when it was looked up; null for none. */
  readonly violation: PolicyRule | null;
  /**
   * When the key becomes idle in the workspace, or expires if that is earlier, by the database's clock; null without idle
   * days. Later uses on any node can only postpone it, so that the key is certainly not idle before.
   */
  readonly idleAt: string | null;
}

/** A rate limit: at most `quota` uses per window. */
export interface Limit {
  readonly quota: number;
  readonly windowSeconds: number;
}

/** A permission that a request needs in a workspace. */
export interface WorkspaceRequirement {
  readonly workspaceId: WorkspaceId;
  readonly permission: Permission;
}

/** What a request needs besides a valid key: a permission in a workspace, or a key without restrictions of its access. */
export type Requirement = WorkspaceRequirement | "unrestricted";

/**
 * Why a request was rejected. It is shown in logs and to the key's owner; the caller learns only that the request was rejected
 * or, if nothing else is wrong, that the workspace is disabled.
 */
export type RejectionReason =
  | "malformed"
  | "unknown"
  | "deleted"
  | "user-disabled"
  | "disabled"
  | "expired"
  | "rotated-out"
  | "address"
  | "narrowed"
  | "workspace-not-in-key"
  | "no-member"
  | "blocked"
  | "policy"
  | "no-permission"
  | "permission-not-in-key"
  | "workspace-disabled";

export type Decision =
  | { readonly kind: "allowed" }
  | { readonly kind: "rejected"; readonly reason: RejectionReason };

/** The context of a request that a decision depends on. */
export interface RequestContext {
  readonly requirement: Requirement | undefined;
  /** The caller's IP address; undefined if it is not known. */
  readonly address: string | undefined;
}

/**
 * Decides whether facts that were read earlier allow a request. Pure: uses no clock and no database.
 *
 * Expiry, the end of an overlap, the maximum idle time and rate limits are enforced by the statement that counts the use
 * (`count-statement.ts`), by the database's clock. A request that changes data checks the key and its user again after it has
 * taken its locks (`requireStillActing` in apps/api), by the same rules for restrictions and roles.
 */
export function decide(facts: KeyFacts, { requirement, address }: RequestContext): Decision {
  const decision = checkKey(facts);
  if (decision.kind === "rejected") return decision;
  const { restrictions } = facts;
  if (!allowsAddress(restrictions, address)) return rejections.address;
  if (requirement === "unrestricted" && limitsAccess(restrictions))
    return rejections[requiresUnrestrictedKey];
  // A service account has no other workspace, so its keys can't be used for requests without a workspace either.
  if (typeof requirement !== "object")
    return facts.isServiceWorkspaceDisabled ? rejections["workspace-disabled"] : allowed;
  const { workspaceId, permission } = requirement;
  if (!allowsWorkspace(restrictions, workspaceId)) return rejections["workspace-not-in-key"];
  const membership = facts.memberships.get(workspaceId);
  if (!membership) return rejections["no-member"];
  if (membership.isBlocked) return rejections.blocked;
  if (membership.violation) return rejections.policy;
  if (!roleHasPermission(membership.role, permission)) return rejections["no-permission"];
  if (!allowsPermission(restrictions, permission)) return rejections["permission-not-in-key"];
  // Last, because the caller gets this reason: it reveals nothing to callers who would be rejected anyway.
  return membership.isWorkspaceDisabled ? rejections["workspace-disabled"] : allowed;
}

/** Decides whether a key is valid, whatever the request needs. */
export function checkKey(facts: KeyFacts): Decision {
  if (facts.isDeleted) return rejections.deleted;
  if (facts.isUserDisabled) return rejections["user-disabled"];
  if (facts.hasOverlapEnded) return rejections["rotated-out"];
  if (facts.isDisabled) return rejections.disabled;
  return facts.isExpired ? rejections.expired : allowed;
}

const allowed = { kind: "allowed" } as const satisfies Decision;

/** The code is older than the term "restricted key", and clients may depend on it. */
const requiresUnrestrictedKey = "narrowed";

/** One shared object per reason, so that a rejection allocates nothing. */
const rejections = Object.fromEntries(
  (
    [
      "deleted",
      "user-disabled",
      "disabled",
      "expired",
      "rotated-out",
      "address",
      requiresUnrestrictedKey,
      "workspace-not-in-key",
      "no-member",
      "blocked",
      "policy",
      "no-permission",
      "permission-not-in-key",
      "workspace-disabled",
    ] as const
  ).map((reason) => [reason, { kind: "rejected", reason }] as const),
) as Record<Exclude<RejectionReason, "malformed" | "unknown">, Decision & { kind: "rejected" }>; // One for each.
