import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import { type Permission, roleHolds } from "../permissions.ts";

/** What decides about a key, as it stood in the database at one instant. */
export interface KeyFacts {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Moves with every change of the facts; a use is spent only where it is still this. */
  readonly version: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  /** The user's role in workspaces that were asked for; one that is absent was not asked for, or has no such member. */
  readonly roles: ReadonlyMap<WorkspaceId, Role>;
}

/** What a request wants beside a good key. */
export interface Demand {
  readonly workspaceId: WorkspaceId;
  readonly permission: Permission;
}

/** Why a key is refused. For logs and for the key's owner; a caller only ever learns that it was. */
export type RefusalReason =
  | "malformed"
  | "unknown"
  | "deleted"
  | "user-disabled"
  | "no-member"
  | "no-permission";

export type Judgement =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly reason: RefusalReason };

/** The one place where the rules live: from facts and a demand to a judgement, with no clock, no database, no surprise. */
export function judge(facts: KeyFacts, demand?: Demand): Judgement {
  if (facts.isDeleted) return refused.deleted;
  if (facts.isUserDisabled) return refused.userDisabled;
  if (!demand) return allowed;
  const role = facts.roles.get(demand.workspaceId);
  if (!role) return refused.noMember;
  return roleHolds(role, demand.permission) ? allowed : refused.noPermission;
}

const allowed = { kind: "allowed" } as const;
const refused = {
  deleted: { kind: "refused", reason: "deleted" },
  userDisabled: { kind: "refused", reason: "user-disabled" },
  noMember: { kind: "refused", reason: "no-member" },
  noPermission: { kind: "refused", reason: "no-permission" },
} as const satisfies Record<string, Judgement>;
