import type { Permission } from "@latchkey/auth/permissions";
import {
  allowsAddress,
  allowsPermission,
  allowsWorkspace,
  compileRestrictions,
  isRestricted,
  limitsAccess,
  type Restrictions,
} from "@latchkey/auth/restrictions";
import { workspaceDisabled } from "@latchkey/auth/workspace-access";
import { isServiceWorkspaceDisabled, isUserActing, lockActingKey } from "@latchkey/db/acting";
import { findKeyRejection } from "@latchkey/db/api-key-policies";
import type { Origin } from "@latchkey/db/audit-actions";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { lockUsers } from "@latchkey/db/members";
import type { Trx } from "@latchkey/db/schema";
import { lockLiveSession } from "@latchkey/db/sessions";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { signInRequired } from "./sign-in-required.ts";

/** The key that authenticated the request, as it is under the lock. */
export interface ActingKey {
  readonly keyId: KeyId;
  readonly restrictions: Restrictions | undefined;
  readonly isRestricted: boolean;
  readonly isByFormerSecret: boolean;
}

/**
 * What a change requires of the actor's key: a permission in the workspace that the transaction has entered, or no
 * restriction to workspaces, permissions or read-only access.
 */
type EditRequirement = "unrestricted" | { readonly scope: WorkspaceScope; readonly permission: Permission };

/**
 * Locks the actor and the other users that a change affects, and checks that the actor may still act.
 * @param requirement what the actor's key must still allow, if the actor uses a key.
 * @returns the actor's key, if any.
 * @throws {AppError} FORBIDDEN; UNAUTHORIZED if the actor's session has ended.
 */
export async function requireStillActing(
  trx: Trx,
  { actor, address }: Origin,
  {
    others = [],
    requirement,
  }: { readonly others?: readonly UserId[]; readonly requirement?: EditRequirement } = {},
): Promise<ActingKey | undefined> {
  await lockUsers(trx, actor.kind === "command" ? others : [actor.userId, ...others]);
  if (actor.kind === "command") return undefined;
  if (!(await isUserActing(trx, actor.userId))) throw new AppError("FORBIDDEN");
  if (actor.kind === "session") {
    // The session may have ended while the change waited for the locks.
    if (actor.sessionId && !(await lockLiveSession(trx, actor.sessionId))) throw signInRequired();
    return undefined;
  }
  const key = await lockActingKey(trx, actor);
  if (!key) throw new AppError("FORBIDDEN");
  const { settings, isByFormerSecret } = key;
  const { keyId } = actor;
  const restrictions = await requireKeyAllows(trx, { keyId, settings }, { address, requirement });
  // With a workspace, `enterForEdit` has checked it.
  if (typeof requirement !== "object" && (await isServiceWorkspaceDisabled(trx, actor.userId)))
    throw workspaceDisabled();
  return { keyId, restrictions, isRestricted: isRestricted(settings), isByFormerSecret };
}

/**
 * Checks that the key's restrictions allow the request, and that the workspace accepts the key.
 * @returns the restrictions; undefined for a key without any.
 * @throws {AppError} FORBIDDEN
 */
export async function requireKeyAllows(
  trx: Trx,
  { keyId, settings }: { readonly keyId: KeyId; readonly settings: KeySettings },
  {
    address,
    requirement,
  }: { readonly address: string | null; readonly requirement: EditRequirement | undefined },
): Promise<Restrictions | undefined> {
  const restrictions = compileRestrictions(settings);
  if (requirement && !meetsRequirement(restrictions, requirement)) throw new AppError("FORBIDDEN");
  if (typeof requirement === "object") await requireAccepted(trx, requirement.scope, keyId);
  if (!allowsAddress(restrictions, address ?? undefined)) throw new AppError("FORBIDDEN");
  return restrictions;
}

function meetsRequirement(restrictions: Restrictions | undefined, requirement: EditRequirement): boolean {
  if (requirement === "unrestricted") return !limitsAccess(restrictions);
  const { scope, permission } = requirement;
  return allowsWorkspace(restrictions, scope.workspaceId) && allowsPermission(restrictions, permission);
}

/** @throws {AppError} FORBIDDEN if the workspace has blocked the key since admission, or its policy rejects the key. */
async function requireAccepted(trx: Trx, scope: WorkspaceScope, keyId: KeyId): Promise<void> {
  // The transaction has entered the workspace. Otherwise, row-level security would hide the membership.
  const found = await findKeyRejection(trx as WorkspaceTrx, scope, keyId);
  if (!found || found.isBlocked || found.violation) throw new AppError("FORBIDDEN");
}
