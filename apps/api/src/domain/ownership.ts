import { allowsPermission, canGrantRole } from "@latchkey/auth/restrictions";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { encodeId, type UserId } from "@latchkey/db/ids";
import { listOwnerIds, type Member, updateMemberRole } from "@latchkey/db/members";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import {
  deleteOwnershipTransfer,
  deleteOwnershipTransferOf,
  findOwnershipTransfer,
  insertOwnershipTransfer,
  type OwnershipTransfer,
} from "@latchkey/db/ownership-transfers";
import type { Trx } from "@latchkey/db/schema";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { getMember, requireOwnershipQuota } from "./members.ts";
import type { Quotas } from "./quotas.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { type ActingKey, requireStillActing } from "./require-still-acting.ts";

const permission = "members:read";

/** How long an offer can be accepted, in seconds: seven days. */
const offerLifetimeSeconds = 604_800;

/** The role of the former owner after a transfer. */
const formerOwnerRole = "admin";

/**
 * Whether an offer can still be accepted. It is void if the user who made it is no longer an owner who can sign in, or
 * the other user can no longer sign in or is already an owner.
 */
function isPending({ isExpired, from, to }: OwnershipTransfer): boolean {
  return !isExpired && from.role === "owner" && !from.isDisabled && to.role !== "owner" && !to.isDisabled;
}

/** Finds the pending ownership transfer of a workspace. */
export async function findPendingTransfer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<OwnershipTransfer | undefined> {
  const transfer = await findOwnershipTransfer(trx, scope);
  return transfer && isPending(transfer) ? transfer : undefined;
}

/** @throws {AppError} NOT_FOUND */
export async function getPendingTransfer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<OwnershipTransfer> {
  const transfer = await findPendingTransfer(trx, scope);
  if (transfer) return transfer;
  throw new AppError("NOT_FOUND", {
    message:
      "There is no pending ownership transfer. It may have expired, or have been accepted or withdrawn.",
  });
}

/**
 * Offers ownership of a workspace to another member. Nothing else changes until the member accepts.
 * @throws {AppError} FORBIDDEN unless the actor is an owner whose key may grant the role of an owner; NOT_FOUND;
 *   CONFLICT if a transfer is pending, or the member is an owner or disabled.
 */
export async function offerOwnership(trx: Trx, edit: Edit, to: UserId): Promise<OwnershipTransfer> {
  const { scope, origin } = edit;
  const from = requireUser(origin);
  const { workspaceTrx, key, role } = await enter(trx, edit, [to]);
  if (!canGrantRole(role, key?.restrictions, "owner")) throw new AppError("FORBIDDEN");
  requireRecentAuthentication(origin);
  const member = await getMember(workspaceTrx, scope, to);
  requireReceiver(member);
  if (await findPendingTransfer(workspaceTrx, scope)) {
    const message = "Another ownership transfer is pending. Withdraw it first.";
    throw new AppError("CONFLICT", { message });
  }
  await deleteOwnershipTransfer(workspaceTrx, scope); // It has expired or is void.
  await insertOwnershipTransfer(workspaceTrx, scope, { from, to, lifetimeSeconds: offerLifetimeSeconds });
  await appendAudit(workspaceTrx, scope, origin, { action: "ownership.offered", targetId: to });
  return await getPendingTransfer(workspaceTrx, scope);
}

/**
 * Accepts an ownership transfer: the actor becomes an owner, and the user who offered it an admin, in one transaction.
 * The lock on the workspace makes concurrent attempts to accept, decline and withdraw wait, so that one succeeds.
 * @throws {AppError} NOT_FOUND; FORBIDDEN unless the transfer is offered to the actor, whose key must allow everything
 *   that an owner may do; UNPROCESSABLE_CONTENT if the actor owns as many workspaces as the quota allows.
 */
export async function acceptOwnership(trx: Trx, edit: Edit, quotas: Quotas): Promise<Member> {
  const { scope, origin } = edit;
  const { workspaceTrx, key, transfer } = await enterTransfer(trx, edit);
  const { from, to } = transfer;
  if (!isActor(origin, to.userId) || !canGrantRole("owner", key?.restrictions, "owner")) {
    throw new AppError("FORBIDDEN");
  }
  requireRecentAuthentication(origin);
  const details = { targetId: to.userId, before: { owner: from.name }, after: { owner: to.name } };
  await appendAudit(workspaceTrx, scope, origin, { action: "ownership.accepted", ...details });
  return await swapRoles(workspaceTrx, edit, { from, to }, quotas);
}

/**
 * Withdraws or declines the pending ownership transfer. An owner can withdraw it, and the member to whom it is offered
 * can decline it; as for leaving, their key must be allowed to manage members.
 * @throws {AppError} NOT_FOUND, FORBIDDEN
 */
export async function endTransfer(trx: Trx, edit: Edit): Promise<void> {
  const { scope, origin } = edit;
  const { workspaceTrx, key, role, transfer } = await enterTransfer(trx, edit);
  const isReceiver = isActor(origin, transfer.to.userId);
  const isAllowed = isReceiver
    ? allowsPermission(key?.restrictions, "members:manage")
    : canGrantRole(role, key?.restrictions, "owner");
  if (!isAllowed) throw new AppError("FORBIDDEN");
  await deleteOwnershipTransfer(workspaceTrx, scope);
  const action = isReceiver ? "ownership.declined" : "ownership.withdrawn";
  await appendAudit(workspaceTrx, scope, origin, { action, targetId: transfer.to.userId });
}

/**
 * Makes a member the owner of a workspace instead of another one, without an offer. For the `latchkey` command, for
 * example if the only owner can no longer sign in.
 * @param change.from the owner who becomes an admin; by default, the only owner.
 * @throws {AppError} NOT_FOUND; CONFLICT if the member is an owner or disabled, `from` is not an owner, or there are
 *   several owners and no `from`; UNPROCESSABLE_CONTENT at the quota of owned workspaces.
 */
export async function transferOwnership(
  trx: Trx,
  edit: Edit,
  change: { readonly from: UserId | undefined; readonly to: UserId },
  quotas: Quotas,
): Promise<{ readonly from: Member; readonly to: Member }> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  const owners = await listOwnerIds(workspaceTrx, scope);
  const fromId = change.from ?? (owners.length === 1 ? owners[0] : undefined);
  if (!fromId) {
    const list = owners.map((id) => encodeId("user", id)).join(", ");
    throw new AppError("CONFLICT", { message: `This workspace has several owners. Add --from: ${list}.` });
  }
  await requireStillActing(workspaceTrx, origin, { others: [fromId, change.to] });
  const from = await getMember(workspaceTrx, scope, fromId);
  const to = await getMember(workspaceTrx, scope, change.to);
  requireReceiver(to);
  if (from.role !== "owner")
    throw new AppError("CONFLICT", {
      message: "--from: this user is not an owner of the workspace. Choose one of its owners.",
    });
  const details = { targetId: to.userId, before: { owner: from.name }, after: { owner: to.name } };
  await appendAudit(workspaceTrx, scope, origin, { action: "ownership.transferred", ...details });
  const owner = await swapRoles(workspaceTrx, edit, { from, to }, quotas);
  return { from: await getMember(workspaceTrx, scope, fromId), to: owner };
}

/**
 * Changes both roles, with an audit event each, and deletes a pending offer of or to either member, which would be pending again if
 * they got their former roles back.
 */
async function swapRoles(
  trx: WorkspaceTrx,
  { scope, origin }: Edit,
  { from, to }: Readonly<Record<"from" | "to", Pick<Member, "userId" | "role">>>,
  quotas: Quotas,
): Promise<Member> {
  await deleteOwnershipTransferOf(trx, scope, [from.userId, to.userId]);
  for (const [{ userId, role: former }, role] of [
    [to, "owner"],
    [from, formerOwnerRole],
  ] as const) {
    await updateMemberRole(trx, scope, { userId, role });
    await appendAudit(trx, scope, origin, {
      action: "member.role-changed",
      targetId: userId,
      before: { role: former },
      after: { role },
    });
  }
  await requireOwnershipQuota(trx, { scope, userId: to.userId }, quotas);
  const owner = await getMember(trx, scope, to.userId);
  await bumpOwnerVersions(trx, [from.userId, to.userId]);
  return owner;
}

/** Locks the workspace, and the users of its pending transfer; under the lock, reads the transfer again. */
async function enterTransfer(trx: Trx, edit: Edit) {
  const { scope } = edit;
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  const { from, to } = await getPendingTransfer(workspaceTrx, scope);
  const entered = await enter(trx, edit, [from.userId, to.userId]);
  // A user may have been disabled before the lock.
  return { ...entered, transfer: await getPendingTransfer(workspaceTrx, scope) };
}

async function enter(trx: Trx, edit: Edit, others: readonly UserId[]) {
  const { scope, origin } = edit;
  const { workspaceTrx, role } = await enterForEdit(trx, edit, permission);
  const requirement = { scope, permission } as const;
  const key: ActingKey | undefined = await requireStillActing(workspaceTrx, origin, { others, requirement });
  return { workspaceTrx, role, key };
}

/** @throws {AppError} CONFLICT */
function requireReceiver({ kind, role, isDisabled }: Member): void {
  if (kind === "service_account") {
    throw new AppError("CONFLICT", { message: "A service account can’t own a workspace." });
  }
  if (role === "owner") throw new AppError("CONFLICT", { message: "This member is already an owner." });
  if (isDisabled) throw new AppError("CONFLICT", { message: "This member is disabled and can't sign in." });
}

/** The user who acts. The `latchkey` command transfers ownership without an offer. */
function requireUser({ actor }: Origin): UserId {
  if (actor.kind === "command") throw new Error("The command makes no offers.");
  return actor.userId;
}

function isActor({ actor }: Origin, userId: UserId): boolean {
  return actor.kind !== "command" && actor.userId === userId;
}
