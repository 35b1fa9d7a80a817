import { type Permission, roleHasPermission } from "@latchkey/auth/permissions";
import {
  allowsAddress,
  allowsPermission,
  allowsWorkspace,
  compileRestrictions,
  isRestricted,
  limitsAccess,
  type Restrictions,
} from "@latchkey/auth/restrictions";
import { openAsOperator, workspaceDisabled } from "@latchkey/auth/workspace-access";
import { isServiceWorkspaceDisabled, isUserActing, lockActingKey } from "@latchkey/db/acting";
import { findKeyRejection } from "@latchkey/db/api-key-policies";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import type { KeySettings } from "@latchkey/db/key-settings";
import {
  countMembers,
  countMemberships,
  listOwnedWorkspaces,
  listWorkspaceIds,
  lockUsers,
} from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import type { Db, Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { lockLiveSession } from "@latchkey/db/sessions";
import { findKeyOwner } from "@latchkey/db/users";
import type { Versions } from "@latchkey/db/versions";
import {
  type NewWorkspaceFields,
  type WorkspaceFieldChanges,
  type WorkspaceFields,
  workspaceFieldActions,
} from "@latchkey/db/workspace-fields";
import {
  enterAsUser,
  enterWorkspace,
  type WorkspaceScope,
  type WorkspaceTrx,
} from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findMembership,
  findWorkspace,
  insertWorkspace,
  listMemberIds,
  lockWorkspace,
  updateWorkspace,
  type Workspace,
} from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { addQuotaNotice, type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { signInRequired } from "./sign-in-required.ts";
import { createSlug, randomSlugSuffix } from "./slug.ts";

/** The workspace to change, and the origin of the change. */
export interface Edit {
  readonly scope: WorkspaceScope;
  readonly origin: Origin;
}

const slugAttempts = 5;

/**
 * Creates a workspace with its first owner.
 * @throws {AppError} CONFLICT if every slug tried is taken, FORBIDDEN if the user is disabled or a service account,
 *   UNPROCESSABLE_CONTENT at the quota.
 */
export async function createWorkspace(
  trx: Trx,
  workspace: NewWorkspaceFields & { readonly ownerId: UserId; readonly origin: Origin },
  quotas: Quotas,
): Promise<Workspace> {
  const { ownerId, origin, ...fields } = workspace;
  // The lock on the owner serializes their creations, so that each one counts the others.
  await requireStillActing(trx, origin, { others: [ownerId], requirement: "unrestricted" });
  if ((await findKeyOwner(trx, ownerId))?.kind !== "person") throw new AppError("FORBIDDEN"); // Service accounts own nothing.
  const userTrx = await enterAsUser(trx, ownerId);
  const owned = await listOwnedWorkspaces(userTrx, ownerId);
  requireQuota(quotas, "workspacesPerUser", owned.length);
  requireQuota(quotas, "membershipsPerUser", await countMemberships(userTrx, ownerId));
  let slug = createSlug(fields.name);
  for (let attempt = 1; attempt <= slugAttempts; attempt += 1) {
    const inserted = await insertWorkspace(trx, { ...fields, slug, ownerId });
    if (inserted) {
      const { scope, workspaceTrx } = inserted;
      const change = {
        action: "workspace.created",
        targetId: scope.workspaceId,
        after: { name: fields.name },
      } as const;
      await appendAudit(workspaceTrx, scope, origin, change);
      await addQuotaNotice(trx, quotas, {
        quota: "workspacesPerUser",
        count: owned.length + 1,
        userIds: [ownerId],
      });
      return await getWorkspace(workspaceTrx, scope);
    }
    slug = createSlug(fields.name, randomSlugSuffix());
  }
  throw new AppError("CONFLICT", {
    message: "Every URL for this name is taken. Choose another name.",
  });
}

/**
 * @throws {AppError} FORBIDDEN if it was deleted since admission, so that callers can't tell whether it ever
 * existed.
 */
export async function getWorkspace(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<Workspace> {
  const workspace = await findWorkspace(trx, scope);
  if (!workspace) throw new AppError("FORBIDDEN");
  return workspace;
}

/** Returns a workspace for an operator, who may know which workspaces exist. @throws {AppError} NOT_FOUND */
export async function getWorkspaceAsOperator(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<Workspace> {
  return (await findWorkspace(trx, scope)) ?? workspaceNotFound(scope.workspaceId);
}

/**
 * Changes fields of a workspace, but not its slug. The audit log gets one event per field whose value changes.
 * @throws {AppError} BAD_REQUEST without a field, PRECONDITION_FAILED at another version, FORBIDDEN if the workspace
 *   was deleted concurrently, to change without recent authentication whether it requires a second factor or how long
 *   its audit log is kept, or to change the latter without the permission to delete the workspace; CONFLICT if a user
 *   without a second factor requires one.
 */
export async function update(
  trx: Trx,
  edit: Edit,
  change: { readonly fields: WorkspaceFieldChanges; readonly versions: Versions },
): Promise<Workspace> {
  requireChange(change.fields);
  const { scope, origin } = edit;
  const permission = "workspace:update";
  const { workspaceTrx, role } = await enterForEdit(trx, edit, permission);
  const key = await requireStillActing(workspaceTrx, origin, { requirement: { scope, permission } });
  const before = await getWorkspace(workspaceTrx, scope);
  const { requiresSecondFactor, auditRetentionDays } = change.fields;
  if (auditRetentionDays !== undefined && auditRetentionDays !== before.auditRetentionDays) {
    requireRecentAuthentication(origin);
    // Only those who may delete the workspace with its audit log may let its events be deleted.
    if (
      !roleHasPermission(role, "workspace:delete") ||
      !allowsPermission(key?.restrictions, "workspace:delete")
    )
      throw new AppError("FORBIDDEN");
  }
  if (requiresSecondFactor !== undefined && requiresSecondFactor !== before.requiresSecondFactor)
    await requireOwnFactor(workspaceTrx, origin, requiresSecondFactor);
  const updated = await updateWorkspace(workspaceTrx, scope, change);
  if (!updated) throw new AppError("PRECONDITION_FAILED");
  for (const field of Object.keys(workspaceFieldActions) as (keyof WorkspaceFields)[]) {
    // The keys of `workspaceFieldActions` are the fields.
    if (before[field] === updated[field]) continue;
    await appendAudit(workspaceTrx, scope, origin, {
      action: workspaceFieldActions[field],
      targetId: scope.workspaceId,
      before: { [field]: before[field] },
      after: { [field]: updated[field] },
    });
  }
  return updated;
}

/** A user can require a second factor only if they have one, so that they don't lock themselves out. */
async function requireOwnFactor(trx: WorkspaceTrx, origin: Origin, isRequired: boolean): Promise<void> {
  requireRecentAuthentication(origin);
  const { actor } = origin;
  if (!isRequired || actor.kind === "command" || (await hasSecondFactor(trx, actor.userId))) return;
  throw new AppError("CONFLICT", {
    message: "Set up a second factor for your own account before you require one from all members.",
  });
}

/**
 * Deletes a workspace with everything in it, including its audit log. Once this is committed, no key reaches it.
 * @throws {AppError} PRECONDITION_FAILED at another version, FORBIDDEN if it was deleted concurrently.
 */
export async function remove(trx: Trx, edit: Edit, versions?: Versions): Promise<void> {
  requireRecentAuthentication(edit.origin);
  const permission = "workspace:delete";
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  const memberIds = await listMemberIds(workspaceTrx, edit.scope);
  const requirement = { scope: edit.scope, permission } as const;
  await requireStillActing(workspaceTrx, edit.origin, { others: memberIds, requirement });
  const { workspaceId } = edit.scope;
  await appendInstanceEvent(workspaceTrx, edit.origin, { action: "workspace.deleted", workspaceId });
  const isDeleted = await deleteWorkspace(workspaceTrx, edit.scope, { memberIds, versions });
  if (!isDeleted) throw new AppError("PRECONDITION_FAILED");
}

/**
 * Enters a workspace in a transaction, and locks it against concurrent changes. Under the lock, checks the role again,
 * because it may have changed since admission. Call {@link requireStillActing} next, which checks the user and the key
 * again.
 * @returns the role of the actor; the `latchkey` command may do everything that an owner may.
 * @throws {AppError} FORBIDDEN without the permission, if the workspace is disabled, and if it doesn't exist, so that callers
 *   can't tell whether it ever existed; for the operator, NOT_FOUND.
 */
export async function enterForEdit(
  trx: Trx,
  { scope, origin: { actor } }: Edit,
  permission: Permission,
): Promise<{ readonly workspaceTrx: WorkspaceTrx; readonly role: Role }> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const isFound = await lockWorkspace(workspaceTrx, scope);
  if (actor.kind === "command") {
    return isFound ? { workspaceTrx, role: "owner" } : workspaceNotFound(scope.workspaceId);
  }
  const membership = isFound
    ? await findMembership(workspaceTrx, { userId: actor.userId, workspaceId: scope.workspaceId })
    : undefined;
  if (!membership || !roleHasPermission(membership.role, permission)) throw new AppError("FORBIDDEN");
  if (membership.disabledAt) throw workspaceDisabled();
  return { workspaceTrx, role: membership.role };
}

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

/** A workspace as the operator sees it. */
export interface WorkspaceSummary extends Workspace {
  readonly memberCount: number;
}

/** How many workspaces {@link listAllWorkspaces} keeps in memory at a time. */
const summariesPerPage = 100;

/**
 * Lists every workspace of the instance by ID, for the operator. A workspace that is created or deleted while the list
 * is read may be missing.
 * @param admissionDb a connection in the admission role, the only role that can list all workspaces.
 */
export async function* listAllWorkspaces(db: Db, admissionDb: Db): AsyncGenerator<WorkspaceSummary> {
  let after: WorkspaceId | undefined;
  do {
    const ids = await listWorkspaceIds(admissionDb, { after, limit: summariesPerPage });
    // Ends the transaction before yielding, because the consumer may take any amount of time.
    yield* await db.transaction().execute((trx) => summarize(trx, ids));
    after = ids.length === summariesPerPage ? ids.at(-1) : undefined;
  } while (after);
}

/** @throws {AppError} NOT_FOUND */
export async function getWorkspaceSummary(trx: Trx, id: WorkspaceId): Promise<WorkspaceSummary> {
  const [summary] = await summarize(trx, [id]);
  return summary ?? workspaceNotFound(id);
}

async function summarize(trx: Trx, ids: readonly WorkspaceId[]): Promise<WorkspaceSummary[]> {
  const summaries: WorkspaceSummary[] = [];
  for (const id of ids) {
    const scope = openAsOperator(id);
    const workspaceTrx = await enterWorkspace(trx, scope);
    const workspace = await findWorkspace(workspaceTrx, scope);
    if (!workspace) continue; // Deleted concurrently.
    summaries.push({ ...workspace, memberCount: await countMembers(workspaceTrx, scope, {}) });
  }
  return summaries;
}

/** For the operator only: other callers can't distinguish a missing workspace from one that isn't theirs. */
function workspaceNotFound(id: WorkspaceId): never {
  throw new AppError("NOT_FOUND", { message: `There is no workspace ${encodeId("workspace", id)}.` });
}
