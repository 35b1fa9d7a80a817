import { openAsOperator } from "@latchkey/auth/workspace-access";
import {
  deleteUser,
  hasOtherUser,
  type KeySummary,
  listSentInvitations,
  lockSignUps,
  lockUserForDeletion,
  summarizeKeys,
} from "@latchkey/db/account-deletion";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { encodeId, type SessionId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import { deleteMember, hasOtherOwner } from "@latchkey/db/members";
import { hasOtherOperator, listOperatorIds } from "@latchkey/db/operators";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import { lockLiveSession } from "@latchkey/db/sessions";
import { findUser, type User } from "@latchkey/db/users";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { enterAsUser, enterWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findRole,
  findWorkspace,
  listMemberIds,
  listOwnWorkspaceIds,
  type Workspace,
} from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { endInvitation } from "./end-invitation.ts";
import { joinSome } from "./join-some.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { signInRequired } from "./sign-in-required.ts";

/** A workspace of the user, and what happens to it if the user is deleted. */
interface AffectedWorkspace {
  readonly scope: WorkspaceScope;
  readonly workspace: Workspace;
  readonly role: Role;
  /**
   * `delete`: the user is the only member. `block`: the user is the last owner of a workspace with other members.
   * `keep`: it stays as it is.
   */
  readonly consequence: "delete" | "block" | "keep";
}

/** What the deletion of an account does, or why it isn't possible. */
export interface DeletionPreview extends KeySummary {
  /** The workspaces that are deleted with the account, because it is their only member. */
  readonly deletedWorkspaces: readonly Workspace[];
  /** The workspaces that have other members and no other owner. They prevent the deletion. */
  readonly blockingWorkspaces: readonly Workspace[];
  /** Whether this is the only operator who can sign in and the instance has other users, which prevents the deletion. */
  readonly isNeededOperator: boolean;
}

/** @throws {AppError} NOT_FOUND */
export async function previewDeletion(trx: Trx, userId: UserId): Promise<DeletionPreview> {
  const user = await findUser(trx, userId);
  if (!user) throw userNotFound();
  const affected: AffectedWorkspace[] = [];
  for (const id of await listMemberships(trx, userId)) {
    const found = await findAffected(trx, { userId, id });
    if (found) affected.push(found);
  }
  return {
    ...(await summarizeKeys(trx, userId)),
    deletedWorkspaces: workspacesWith(affected, "delete"),
    blockingWorkspaces: workspacesWith(affected, "block"),
    isNeededOperator: await isNeededOperator(trx, user),
  };
}

function workspacesWith(
  affected: readonly AffectedWorkspace[],
  consequence: AffectedWorkspace["consequence"],
): readonly Workspace[] {
  return affected.filter((one) => one.consequence === consequence).map(({ workspace }) => workspace);
}

/** What the deletion of an account deleted. */
export interface DeletionResult {
  /** The API keys that stopped working. */
  readonly keyCount: number;
  readonly deletedWorkspaces: readonly Workspace[];
}

interface Deletion {
  readonly userId: UserId;
  /** The session of the user who deletes their account; undefined for the `latchkey` command. */
  readonly sessionId?: SessionId;
  readonly origin: Origin;
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/** How many times to retry if the user's workspaces or role change concurrently. */
const attempts = 20;

/**
 * Deletes an account with everything that belongs to it: sessions, API keys, memberships, the password, invitations that
 * the user sent, and the workspaces of which the user is the only member. Once this returns, every node rejects the
 * keys, and the email address can be registered again.
 * @throws {AppError} CONFLICT if the user is the last owner of a workspace with other members, the only member of a
 *   disabled one, or the only operator of an instance with other users; UNAUTHORIZED if the session has ended; NOT_FOUND;
 *   FORBIDDEN without recent authentication.
 */
export async function deleteAccount(deletion: Deletion): Promise<DeletionResult> {
  requireRecentAuthentication(deletion.origin);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const result = await deletion.transact((trx) => deleteIfMembershipsUnchanged(trx, deletion));
    if (result) return result;
  }
  const message = "The workspaces of this account changed while it was being deleted. Try again.";
  throw new AppError("CONFLICT", { message });
}

/**
 * Returns undefined if the user has joined a workspace since their workspaces were locked, got or lost the role of an operator, or
 * became the last person. Locks workspaces in the order of their IDs, then the user and, for an operator, all operators, and the
 * counters of the user's keys last, as every other transaction does.
 */
async function deleteIfMembershipsUnchanged(
  trx: Trx,
  { userId, sessionId, origin }: Deletion,
): Promise<DeletionResult | undefined> {
  const user = await findUser(trx, userId);
  if (!user) throw sessionId ? signInRequired() : userNotFound();
  const isLastPerson = user.isOperator && !(await hasOtherUser(trx, userId));
  if (isLastPerson) await lockSignUps(trx);
  const locked = await lockMemberships(trx, userId);
  // Locks all operators, so that none loses the role or is deleted before the commit.
  const operatorIds = user.isOperator ? await listOperatorIds(trx) : [];
  if (!(await lockUserForDeletion(trx, userId, operatorIds)))
    throw sessionId ? signInRequired() : userNotFound();
  if (sessionId && !(await lockLiveSession(trx, sessionId))) throw signInRequired();
  const current = await listMemberships(trx, userId);
  if (!new Set(current).isSubsetOf(new Set(locked))) return undefined;
  const latest = await findUser(trx, userId);
  // Without the locks on the operators, nothing prevents the others from losing the role.
  if (latest?.isOperator !== user.isOperator) return undefined;
  if (await isNeededOperator(trx, user)) throw operatorIsNeeded();
  // Everyone else was deleted since, so sign-ups must be locked first. If another person remains, one of the locked operators
  // remains too, so that the next sign-up can't become the operator.
  if (user.isOperator && !isLastPerson && !(await hasOtherUser(trx, userId))) return undefined;
  const affected: AffectedWorkspace[] = [];
  for (const id of current) {
    const found = await findAffected(trx, { userId, id });
    if (found) affected.push(found);
  }
  const blocking = workspacesWith(affected, "block");
  if (blocking.length > 0) throw ownershipIsNeeded(blocking, origin);
  if (origin.actor.kind !== "command") requireNoDisabledWorkspace(affected);
  for (const one of affected) {
    if (one.consequence === "keep") await leave(trx, { userId, origin }, one);
    else await deleteOwnWorkspace(trx, one.scope, origin);
  }
  await appendInstanceEvent(trx, origin, { action: "user.deleted", userId });
  const { keyCount } = await summarizeKeys(trx, userId); // No key can be added to a locked user.
  await deleteUser(trx, { id: userId, name: latest.name });
  return { keyCount, deletedWorkspaces: workspacesWith(affected, "delete") };
}

/** Whether nobody else could manage the instance, which has other users. */
async function isNeededOperator(trx: Trx, { id, isOperator }: User): Promise<boolean> {
  return isOperator && !(await hasOtherOperator(trx, id)) && (await hasOtherUser(trx, id));
}

async function listMemberships(trx: Trx, userId: UserId): Promise<readonly WorkspaceId[]> {
  return await listOwnWorkspaceIds(await enterAsUser(trx, userId), userId, null);
}

async function lockMemberships(trx: Trx, userId: UserId): Promise<readonly WorkspaceId[]> {
  const ids = await listMemberships(trx, userId);
  for (const id of ids) {
    const scope = openAsOperator(id);
    await lockWorkspace(await enterWorkspace(trx, scope), scope);
  }
  return ids;
}

/** Returns undefined if the workspace was deleted, or the user removed, concurrently. */
async function findAffected(
  trx: Trx,
  { userId, id }: { readonly userId: UserId; readonly id: WorkspaceId },
): Promise<AffectedWorkspace | undefined> {
  const scope = openAsOperator(id);
  const workspaceTrx = await enterWorkspace(trx, scope);
  const workspace = await findWorkspace(workspaceTrx, scope);
  const role = await findRole(workspaceTrx, { userId, workspaceId: id });
  if (!workspace || !role) return undefined;
  const members = await listMemberIds(workspaceTrx, scope);
  if (members.length === 1) return { scope, workspace, role, consequence: "delete" };
  const isLastOwner = role === "owner" && !(await hasOtherOwner(workspaceTrx, scope, userId));
  return { scope, workspace, role, consequence: isLastOwner ? "block" : "keep" };
}

/** Ends the membership and the invitations that the user sent, with an audit event each. */
async function leave(
  trx: Trx,
  { userId, origin }: Pick<Deletion, "userId" | "origin">,
  { scope, role }: AffectedWorkspace,
): Promise<void> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  for (const { id, ...before } of await listSentInvitations(workspaceTrx, scope, userId)) {
    await endInvitation(workspaceTrx, scope, id);
    await appendAudit(workspaceTrx, scope, origin, { action: "invitation.revoked", targetId: id, before });
  }
  const event = { action: "member.account-deleted", targetId: userId, before: { role } } as const;
  await appendAudit(workspaceTrx, scope, origin, event);
  await deleteMember(workspaceTrx, scope, { userId });
}

/** No versions of keys are incremented: the only member's keys are deleted in the same transaction. */
async function deleteOwnWorkspace(trx: Trx, scope: WorkspaceScope, origin: Origin): Promise<void> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const { workspaceId } = scope;
  await appendInstanceEvent(workspaceTrx, origin, { action: "workspace.deleted", workspaceId });
  await deleteWorkspace(workspaceTrx, scope, { memberIds: [] });
}

/** A member can't delete a disabled workspace, so that an operator can still find out what happened in it. */
function requireNoDisabledWorkspace(affected: readonly AffectedWorkspace[]): void {
  const disabled = affected.find(
    ({ consequence, workspace }) => consequence === "delete" && workspace.disabledAt,
  );
  if (!disabled) return;
  const message = `Your workspace “${disabled.workspace.name}” is disabled. Ask an operator of this instance to delete it first.`;
  throw new AppError("CONFLICT", { message });
}

/** The command takes IDs of workspaces, so its error has them in addition to the names. */
function ownershipIsNeeded(workspaces: readonly Workspace[], { actor }: Origin): AppError {
  const describe = ({ id, name }: Workspace) =>
    actor.kind === "command" ? `“${name}” (${encodeId("workspace", id)})` : `“${name}”`;
  const message = `The last owner of a workspace that has other members or service accounts can’t be deleted. Transfer ownership, or delete the workspace, first: ${joinSome(workspaces.map(describe))}.`;
  return new AppError("CONFLICT", { message });
}

function operatorIsNeeded(): AppError {
  const message =
    "The only operator who can sign in can’t be deleted while the instance has other users. Grant the operator role to another user first.";
  return new AppError("CONFLICT", { message });
}

function userNotFound(): AppError {
  return new AppError("NOT_FOUND", { message: "There is no such user." });
}
