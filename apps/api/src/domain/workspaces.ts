import { roleHasPermission } from "@latchkey/auth/permissions";
import { allowsPermission } from "@latchkey/auth/restrictions";
import { isUserActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { UserId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import { countMemberships, listOwnedWorkspaces } from "@latchkey/db/memberships";
import type { Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { findKeyOwner } from "@latchkey/db/users";
import type { Versions } from "@latchkey/db/versions";
import {
  type NewWorkspaceFields,
  type WorkspaceFieldChanges,
  type WorkspaceFields,
  workspaceFieldActions,
} from "@latchkey/db/workspace-fields";
import { enterAsUser, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findWorkspace,
  insertWorkspace,
  listMemberIds,
  updateWorkspace,
  type Workspace,
} from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit, workspaceNotFound } from "./enter-for-edit.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { addQuotaNotice, type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";
import { createSlug, randomSlugSuffix } from "./slug.ts";

const slugAttempts = 5;

/**
 * Creates a workspace with its first owner.
 * @throws {AppError} CONFLICT if every slug tried is taken, and for the command if the user is disabled; FORBIDDEN if the actor is
 *   disabled or the user is a service account; UNPROCESSABLE_CONTENT at the quota.
 */
export async function createWorkspace(
  trx: Trx,
  workspace: NewWorkspaceFields & { readonly ownerId: UserId; readonly origin: Origin },
  quotas: Quotas,
): Promise<Workspace> {
  const { ownerId, origin, ...fields } = workspace;
  // The lock on the owner serializes their creations, so that each one counts the others.
  await requireStillActing(trx, origin, { others: [ownerId], requirement: "unrestricted" });
  // The command creates the workspace for another user. If they are disabled, it would have no owner who can sign in.
  if (!(await isUserActing(trx, ownerId)))
    throw new AppError("CONFLICT", { message: "This user is disabled. Enable the user first." });
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
  if (isUnchanged(before, { versions: change.versions, changes: change.fields })) return before;
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
  const isServiceAccount = (await findKeyOwner(trx, actor.userId))?.kind === "service_account";
  const message = isServiceAccount
    ? "A service account has no second factor, so it can’t require one from all members. An owner or admin with a second factor can."
    : "Set up a second factor for your own account before you require one from all members.";
  throw new AppError("CONFLICT", { message });
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
