import { allowsPermission, mayGrant } from "@latchkey/auth/restrictions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { UserId } from "@latchkey/db/ids";
import {
  countMembers,
  deleteMember,
  findMember,
  forgetMemberKeys,
  hasOtherOwner,
  insertMember,
  listMembers,
  listOwnedWorkspaces,
  type Member,
  updateMemberRole,
} from "@latchkey/db/members";
import type { Position } from "@latchkey/db/page";
import type { Db, Role, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import {
  enterAsUser,
  enterWorkspace,
  inWorkspace,
  type WorkspaceScope,
  type WorkspaceTrx,
} from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { type Quotas, requireRoom } from "./quotas.ts";
import { type Edit, enterToEdit, requireStillActing } from "./workspaces.ts";

/** @throws {AppError} NOT_FOUND */
export async function getMember(trx: WorkspaceTrx, scope: WorkspaceScope, userId: UserId): Promise<Member> {
  const member = await findMember(trx, scope, userId);
  if (!member) throw new AppError("NOT_FOUND", { message: "There is no such member." });
  return member;
}

/** How many members {@link listEveryMember} holds in memory at a time. */
const membersPerPage = 100;

/** Every member of a workspace, in the order in which they joined. A member who joins while the list is read may be missing. */
export async function* listEveryMember(db: Db, scope: WorkspaceScope): AsyncGenerator<Member> {
  const order = { sort: "joinedAt", direction: "asc", limit: membersPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    // The transaction ends before the page is handed out: the reader may take any amount of time.
    const members = await inWorkspace(db, scope, (trx) => listMembers(trx, scope, { ...order, after }));
    yield* members;
    const last = members.length === membersPerPage ? members.at(-1) : undefined;
    after = last && { value: last.position, id: last.userId };
  } while (after);
}

/**
 * Gives a member another role. Once this is committed it is in force for their keys and sessions, on every node.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN when either role holds more than the actor's own,
 *   CONFLICT for the last owner, UNPROCESSABLE_CONTENT for a new owner who owns as many workspaces as the quota allows.
 */
export async function changeMemberRole(
  trx: Trx,
  edit: Edit,
  change: { readonly userId: UserId; readonly role: Role; readonly versions: Versions },
  quotas: Quotas,
): Promise<Member> {
  const { scope, origin } = edit;
  const { userId, role, versions } = change;
  const { inside, member, mayGive } = await prepare(trx, edit, userId);
  if (!mayGive(member.role) || !mayGive(role)) throw new AppError("FORBIDDEN");
  if (member.role === role && (versions?.includes(member.version) ?? true)) return member;
  if (!(await updateMemberRole(inside, scope, change))) throw new AppError("PRECONDITION_FAILED");
  if (member.role === "owner") await requireOtherOwner(inside, scope, userId);
  if (role === "owner") await requireRoomToOwn(trx, { scope, userId }, quotas);
  await appendAudit(inside, scope, origin, {
    action: "member.role-changed",
    targetId: userId,
    before: { role: member.role },
    after: { role },
  });
  const changed = await getMember(inside, scope, userId);
  await forgetMemberKeys(inside, userId);
  return changed;
}

/**
 * Takes a member out of a workspace; anybody may leave one, but not by a key that may not manage members. Once this is committed neither their keys nor their
 * sessions reach it.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN when the member holds more than the actor does, CONFLICT for
 *   the last owner.
 */
export async function removeMember(
  trx: Trx,
  edit: Edit,
  removal: { readonly userId: UserId; readonly versions?: Versions },
): Promise<void> {
  const { scope, origin } = edit;
  const { userId } = removal;
  const { inside, member, mayGive, mayLeave } = await prepare(trx, edit, userId);
  if (!mayLeave && !mayGive(member.role)) throw new AppError("FORBIDDEN");
  if (!(await deleteMember(inside, scope, removal))) throw new AppError("PRECONDITION_FAILED");
  if (member.role === "owner") await requireOtherOwner(inside, scope, userId);
  const before = { role: member.role, email: member.email };
  await appendAudit(inside, scope, origin, { action: "member.removed", targetId: userId, before });
  await forgetMemberKeys(inside, userId);
}

/**
 * Adds a user to a workspace.
 * @throws {AppError} CONFLICT for a member, UNPROCESSABLE_CONTENT at a quota, and what {@link enterToEdit} throws.
 */
export async function addMember(
  trx: Trx,
  edit: Edit,
  { userId, role }: { readonly userId: UserId; readonly role: Role },
  quotas: Quotas,
): Promise<Member> {
  const { scope, origin } = edit;
  const permission = "members:manage";
  const { inside } = await enterToEdit(trx, edit, permission);
  const requirement = { workspaceId: scope.workspaceId, permission } as const;
  await requireStillActing(inside, origin, { others: [userId], requirement });
  if (!(await insertMember(inside, scope, { userId, role }))) {
    throw new AppError("CONFLICT", { message: "This user is a member already." });
  }
  // The workspace is locked, so that nobody else adds a member before this one is counted.
  requireRoom(quotas, "membersPerWorkspace", (await countMembers(inside, scope, {})) - 1);
  if (role === "owner") await requireRoomToOwn(trx, { scope, userId }, quotas);
  await appendAudit(inside, scope, origin, { action: "member.added", targetId: userId, after: { role } });
  return await getMember(inside, scope, userId);
}

/**
 * Locks all that a change of a member goes by, and reads it: the actor's own role too, which may have changed since the
 * request was let in.
 */
async function prepare(trx: Trx, edit: Edit, userId: UserId) {
  const { scope, origin } = edit;
  const permission = "members:read";
  const { inside, role } = await enterToEdit(trx, edit, permission);
  const member = await getMember(inside, scope, userId);
  const requirement = { workspaceId: scope.workspaceId, permission } as const;
  const { restrictions } =
    (await requireStillActing(inside, origin, { others: [userId], requirement })) ?? {};
  const isOneself = origin.actor.kind !== "command" && origin.actor.userId === userId;
  const mayLeave = isOneself && allowsPermission(restrictions, "members:manage");
  const mayGive = (granted: Role): boolean => mayGrant(role, restrictions, granted);
  return { inside, member, mayGive, mayLeave };
}

/**
 * Checks that a user who was just made an owner owns no more workspaces than the quota allows. The user is locked, so that
 * a workspace created or handed over at the same time comes before this one or counts it.
 * @throws {AppError} UNPROCESSABLE_CONTENT
 */
async function requireRoomToOwn(
  trx: Trx,
  { scope, userId }: { readonly scope: WorkspaceScope; readonly userId: UserId },
  quotas: Quotas,
): Promise<void> {
  // A transaction sees either one workspace or where one user belongs.
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, userId), userId);
  await enterWorkspace(trx, scope);
  requireRoom(quotas, "workspacesPerUser", owned.length - 1);
}

/** @throws {AppError} CONFLICT where nobody else owns the workspace and can sign in. */
async function requireOtherOwner(trx: WorkspaceTrx, scope: WorkspaceScope, userId: UserId): Promise<void> {
  if (await hasOtherOwner(trx, scope, userId)) return;
  throw new AppError("CONFLICT", {
    message: "This is the workspace’s last owner. Make another member an owner first.",
  });
}
