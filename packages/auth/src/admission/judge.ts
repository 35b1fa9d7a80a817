import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import { type Permission, roleHolds } from "../permissions.ts";
import {
  allowsAddress,
  allowsPermission,
  allowsWorkspace,
  limitsAccess,
  type Restrictions,
} from "../restrictions.ts";

/** What decides about a key, as it stood in the database at one instant. */
export interface KeyFacts {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Moves with every change of the facts; a use is spent only where it is still this. */
  readonly version: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  readonly isDisabled: boolean;
  readonly isExpired: boolean;
  /** Whether the secret presented is one that the key had before. */
  readonly isRetired: boolean;
  /** Whether that one's overlap is over. */
  readonly isRotatedOut: boolean;
  /** Whether the key was rotated, and the secret presented is its new one, which no request has used yet. */
  readonly isUnusedSecret: boolean;
  /** When key or secret end, by the database's clock and in its words; null for never. */
  readonly goodUntil: string | null;
  readonly limit: Limit | null;
  /** The restrictions that a node enforces; undefined for none. */
  readonly restrictions: Restrictions | undefined;
  /** Whether the key has any restriction, one that the database enforces included. */
  readonly isRestricted: boolean;
  /** The user's role in workspaces that were asked for; one that is absent was not asked for, or has no such member. */
  readonly roles: ReadonlyMap<WorkspaceId, Role>;
}

/** At most `quota` uses in a window of this length. */
export interface Limit {
  readonly quota: number;
  readonly windowSeconds: number;
}

/** What a request wants in a workspace. */
export interface WorkspaceDemand {
  readonly workspaceId: WorkspaceId;
  readonly permission: Permission;
}

/** What a request wants beside a good key: something in a workspace, or what no key with limited access may do. */
export type Demand = WorkspaceDemand | "unnarrowed";

/** Why a key is refused. For logs and for the key's owner; a caller only ever learns that it was. */
export type RefusalReason =
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
  | "no-permission"
  | "permission-not-in-key";

export type Judgement =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly reason: RefusalReason };

/** What a request is judged by, beside its key. */
export interface Circumstances {
  readonly demand: Demand | undefined;
  /** Where it comes from; undefined where nobody knows. */
  readonly address: string | undefined;
}

/**
 * Decides about a request by facts that were read before, without a clock or a database.
 *
 * It decides what facts can decide, and no more: expiry, the end of an overlap and rate limits are enforced by the statement
 * that counts the use (`statement.ts`), by the database's clock. A change that a request makes checks key and user again,
 * behind its locks (`requireStillActing` in apps/api), by the same rules for restrictions and roles.
 */
export function judge(facts: KeyFacts, { demand, address }: Circumstances): Judgement {
  const judgement = judgeKey(facts);
  if (judgement.kind === "refused") return judgement;
  const { restrictions } = facts;
  if (!allowsAddress(restrictions, address)) return refusals.address;
  if (!demand) return allowed;
  if (demand === "unnarrowed") return limitsAccess(restrictions) ? refusals.narrowed : allowed;
  const { workspaceId, permission } = demand;
  if (!allowsWorkspace(restrictions, workspaceId)) return refusals["workspace-not-in-key"];
  const role = facts.roles.get(workspaceId);
  if (!role) return refusals["no-member"];
  if (!roleHolds(role, permission)) return refusals["no-permission"];
  return allowsPermission(restrictions, permission) ? allowed : refusals["permission-not-in-key"];
}

/** Whether a key is in force at all, whatever is asked for with it. */
export function judgeKey(facts: KeyFacts): Judgement {
  if (facts.isDeleted) return refusals.deleted;
  if (facts.isUserDisabled) return refusals["user-disabled"];
  if (facts.isRotatedOut) return refusals["rotated-out"];
  if (facts.isDisabled) return refusals.disabled;
  return facts.isExpired ? refusals.expired : allowed;
}

const allowed = { kind: "allowed" } as const satisfies Judgement;

/** Each refusal once, so that none is made anew for a request. */
const refusals = Object.fromEntries(
  (
    [
      "deleted",
      "user-disabled",
      "disabled",
      "expired",
      "rotated-out",
      "address",
      "narrowed",
      "workspace-not-in-key",
      "no-member",
      "no-permission",
      "permission-not-in-key",
    ] as const
  ).map((reason) => [reason, { kind: "refused", reason }] as const),
) as Record<Exclude<RefusalReason, "malformed" | "unknown">, Judgement & { kind: "refused" }>; // One for each.
