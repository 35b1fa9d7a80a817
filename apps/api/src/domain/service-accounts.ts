import { isHigherRole, type Permission } from "@latchkey/auth/permissions";
import { findWorkspaceAccess } from "@latchkey/auth/workspace-access";
import { findApiKeyOwnerId } from "@latchkey/db/api-keys";
import type { AuditAction, Details } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { countMembers, findMember, listMembers, type Member } from "@latchkey/db/members";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import {
  insertServiceAccount,
  type ServiceAccountRole,
  updateServiceAccount,
} from "@latchkey/db/service-accounts";
import { findKeyOwner } from "@latchkey/db/users";
import type { Versions } from "@latchkey/db/versions";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterGrantingWorkspace } from "./granting-workspace.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { removeMember } from "./members.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** A member that is not a person. */
export interface ServiceAccount extends Member {
  readonly kind: "service_account";
  readonly role: ServiceAccountRole;
}

const kind = "service_account";

function isServiceAccount(member: Member): member is ServiceAccount {
  return member.kind === kind;
}

/** @throws {AppError} NOT_FOUND, including for a person. */
export async function getServiceAccount(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<ServiceAccount> {
  const member = await findMember(trx, scope, userId);
  if (!member || !isServiceAccount(member)) {
    throw new AppError("NOT_FOUND", { message: "There is no such service account." });
  }
  return member;
}

/** A page of the service accounts of a workspace. */
export async function listServiceAccounts(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  page: Omit<Parameters<typeof listMembers>[2], "filter">,
): Promise<(ServiceAccount & { readonly position: string })[]> {
  const rows = await listMembers(trx, scope, { ...page, filter: { kind } });
  return rows.filter((row) => isServiceAccount(row));
}

/** How many service accounts {@link listEveryServiceAccount} keeps in memory at a time. */
const accountsPerPage = 100;

/** Lists every service account of a workspace, oldest first. An account that is created while the list is read may be missing. */
export async function* listEveryServiceAccount(
  db: Db,
  scope: WorkspaceScope,
): AsyncGenerator<ServiceAccount> {
  const order = { sort: "joinedAt", direction: "asc", limit: accountsPerPage } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const accounts = await inWorkspace(db, scope, (trx) =>
      listServiceAccounts(trx, scope, { ...order, after }),
    );
    yield* accounts;
    const last = accounts.length === accountsPerPage ? accounts.at(-1) : undefined;
    after = last && { value: last.position, id: last.userId };
  } while (after);
}

/**
 * Adds a service account to a workspace.
 * @throws {AppError} FORBIDDEN if the role has permissions that the actor's role doesn't have; UNPROCESSABLE_CONTENT at
 *   the quota.
 */
export async function createServiceAccount(
  trx: Trx,
  edit: Edit,
  account: { readonly name: string; readonly role: ServiceAccountRole },
  quotas: Quotas,
): Promise<ServiceAccount> {
  const { scope, origin } = edit;
  const { workspaceTrx, requireGrant } = await enterGrantingWorkspace(trx, edit);
  requireGrant(account.role);
  // The lock on the workspace prevents concurrent additions between the count and the insert.
  const quota = "serviceAccountsPerWorkspace";
  const count = await countMembers(workspaceTrx, scope, { kind });
  requireQuota(quotas, quota, count);
  const userId = await insertServiceAccount(workspaceTrx, scope, account);
  await addWorkspaceQuotaNotice(workspaceTrx, scope, quotas, { quota, count: count + 1 });
  const after = { name: account.name, role: account.role };
  await appendAudit(workspaceTrx, scope, origin, {
    action: "service-account.created",
    targetId: userId,
    after,
  });
  return await getServiceAccount(workspaceTrx, scope, userId);
}

/** The changes to a service account. Fields that are left out keep their value. */
export interface ServiceAccountChanges {
  readonly name?: string | undefined;
  readonly role?: ServiceAccountRole | undefined;
  readonly isDisabled?: boolean | undefined;
}

/**
 * Changes a service account. Once this is committed, the role and the status apply to its keys on every node.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, BAD_REQUEST without a change, FORBIDDEN if the former or the new
 *   role has permissions that the actor's role doesn't have.
 */
export async function changeServiceAccount(
  trx: Trx,
  edit: Edit,
  {
    userId,
    versions,
    ...changes
  }: ServiceAccountChanges & { readonly userId: UserId; readonly versions?: Versions },
): Promise<ServiceAccount> {
  requireChange(changes);
  const { scope, origin } = edit;
  const { workspaceTrx, canGrant } = await enterGrantingWorkspace(trx, edit, [userId]);
  const before = await getServiceAccount(workspaceTrx, scope, userId);
  const { name = before.name, role = before.role, isDisabled = before.isDisabled } = changes;
  if (!canGrant(before.role) || !canGrant(role)) throw new AppError("FORBIDDEN");
  if (isHigherRole(role, before.role) || (before.isDisabled && !isDisabled))
    requireRecentAuthentication(origin);
  const after = { name, role, isDisabled };
  if (isUnchanged(before, { versions, changes: after })) return before;
  const events = describeChanges(before, after);
  if (!(await updateServiceAccount(workspaceTrx, scope, { userId, ...after, versions }))) {
    throw new AppError("PRECONDITION_FAILED");
  }
  for (const event of events) await appendAudit(workspaceTrx, scope, origin, { ...event, targetId: userId });
  const changed = await getServiceAccount(workspaceTrx, scope, userId);
  await bumpOwnerVersions(workspaceTrx, [userId]);
  return changed;
}

interface ChangeEvent {
  readonly action: AuditAction;
  readonly before?: Details;
  readonly after?: Details;
}

function describeChanges(before: ServiceAccount, after: Required<ServiceAccountChanges>): ChangeEvent[] {
  const { name, role, isDisabled } = after;
  const events: ChangeEvent[] = [];
  if (name !== before.name) {
    events.push({
      action: "service-account.renamed",
      before: { name: before.name },
      after: { name: name ?? "" },
    });
  }
  if (role !== before.role) {
    events.push({
      action: "member.role-changed",
      before: { role: before.role },
      after: { role: role ?? "" },
    });
  }
  if (isDisabled !== before.isDisabled) {
    events.push({ action: isDisabled ? "service-account.disabled" : "service-account.enabled" });
  }
  return events;
}

/**
 * Deletes a service account with its keys, and revokes the invitations that it sent. Once this is committed, no node
 * admits its keys.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN if its role has permissions that the actor's role
 *   doesn't have, and for a service account that would delete itself.
 */
export async function deleteServiceAccount(
  trx: Trx,
  edit: Edit,
  removal: { readonly userId: UserId; readonly versions?: Versions },
): Promise<void> {
  const { workspaceTrx } = await enterGrantingWorkspace(trx, edit, [removal.userId]);
  await getServiceAccount(workspaceTrx, edit.scope, removal.userId);
  await removeMember(trx, edit, removal);
}

/**
 * Checks that the actor may manage the keys of a service account, and locks both, until the transaction ends.
 * @param retried.ownRetryOf the key whose rotation the request retries, if it uses the same secret as the first request.
 *   Only such a request may use an old secret, of the same key (docs/decisions/0026).
 * @throws {AppError} NOT_FOUND, FORBIDDEN if its role has permissions that the actor's role doesn't have, or if the actor's
 *   key is restricted.
 */
export async function requireKeyManager(
  trx: Trx,
  edit: Edit,
  userId: UserId,
  { ownRetryOf }: { readonly ownRetryOf?: KeyId | undefined } = {},
): Promise<void> {
  const { workspaceTrx, key, canGrant } = await enterGrantingWorkspace(trx, edit, [userId]);
  // A restricted key could create or expand a key that can do more than itself. It may have been restricted since admission.
  if (key?.isRestricted || (key?.isByFormerSecret && key.keyId !== ownRetryOf))
    throw new AppError("FORBIDDEN");
  const { role } = await getServiceAccount(workspaceTrx, edit.scope, userId);
  if (!canGrant(role)) throw new AppError("FORBIDDEN");
}

/** The owner of a key that a user may read or change: the user, or a service account. */
export interface ManagedKeyOwner {
  readonly userId: UserId;
  readonly serviceAccount?: {
    readonly name: string;
    readonly isDisabled: boolean;
    readonly scope: WorkspaceScope;
  };
}

/**
 * Finds the owner of a key for a user of the web app. It is the user, unless the key belongs to a service account in
 * whose workspace the user has the permission. A query for a key of this owner then finds no key of anyone else.
 */
export async function findManagedKeyOwner(
  db: Db,
  {
    userId,
    keyId,
    hasSecondFactor,
  }: { readonly userId: UserId; readonly keyId: KeyId; readonly hasSecondFactor: boolean },
  permission: Permission,
): Promise<ManagedKeyOwner> {
  const ownerId = await findApiKeyOwnerId(db, keyId);
  if (ownerId === undefined || ownerId === userId) return { userId };
  const owner = await findKeyOwner(db, ownerId);
  if (!owner?.serviceWorkspaceId) return { userId };
  const { name, isDisabled, serviceWorkspaceId: workspaceId } = owner;
  const access = await findWorkspaceAccess(db, { userId, workspaceId, hasSecondFactor }, permission);
  return access ? { userId: ownerId, serviceAccount: { name, isDisabled, scope: access.scope } } : { userId };
}

/** Finds the workspace of a service account, for the operator. @throws {AppError} NOT_FOUND */
export async function getServiceWorkspace(db: Db, userId: UserId): Promise<WorkspaceId> {
  const owner = await findKeyOwner(db, userId);
  if (owner?.serviceWorkspaceId) return owner.serviceWorkspaceId;
  throw new AppError("NOT_FOUND", { message: "There is no such service account." });
}
