import { openInvitedWorkspace, workspaceDisabled } from "@latchkey/auth/workspace-access";
import type { RequestOrigin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { SessionId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { findInvitation, type Invitation } from "@latchkey/db/invitations";
import { insertMember } from "@latchkey/db/members";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Role } from "@latchkey/db/role";
import type { Db, Trx } from "@latchkey/db/schema";
import { findUser, findUserByEmail } from "@latchkey/db/users";
import { consumeVerification } from "@latchkey/db/verifications";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { enterWorkspace, inWorkspace } from "@latchkey/db/workspace-scope";
import type { Workspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { markVerified } from "./email-verification.ts";
import { endInvitation } from "./end-invitation.ts";
import { invitationPurpose } from "./invitation-link.ts";
import { statusOf } from "./invitation-status.ts";
import { digestLinkToken } from "./link-token.ts";
import {
  requireMemberQuota,
  requireMembershipQuota,
  requireOwnershipQuota,
  requireOwnerToJoin,
} from "./members.ts";
import type { Quotas } from "./quotas.ts";
import { requireStillActing } from "./require-still-acting.ts";
import { getWorkspace } from "./workspaces.ts";

/** The user who accepts an invitation. */
interface Invitee {
  readonly userId: UserId;
  /** The session of a user who is signed in already. */
  readonly sessionId?: SessionId;
}

/** A workspace that a user has just joined. */
export interface JoinedWorkspace {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly slug: string;
  readonly role: Role;
}

/**
 * Makes a user a member of the workspace that they are invited to. The link becomes invalid: of concurrent attempts,
 * one succeeds.
 * @throws {AppError} NOT_FOUND for an invalid link; FORBIDDEN if the invitation is for another email address, or the
 *   workspace is disabled; CONFLICT for a member, and if the workspace has no owner who can sign in; UNPROCESSABLE_CONTENT at
 *   a quota; UNAUTHORIZED if the session has ended.
 */
export async function acceptInvitation(
  trx: Trx,
  token: string,
  { userId, sessionId, ...from }: Invitee & RequestOrigin,
  quotas: Quotas,
): Promise<JoinedWorkspace> {
  const digest = digestLinkToken(token);
  const opened = await openInvitedWorkspace(trx, digest);
  if (!opened) throw invalidLink();
  const { scope, invitationId: id } = opened;
  const workspaceTrx = await enterWorkspace(trx, scope);
  if (!(await lockWorkspace(workspaceTrx, scope))) throw invalidLink();
  const { inviter } = requireValid(await findInvitation(workspaceTrx, scope, { id }));
  const { name, slug } = requireEnabled(await getWorkspace(workspaceTrx, scope));
  const actor = {
    kind: "session",
    userId,
    isRecentlyAuthenticated: true,
    ...(sessionId && { sessionId }),
  } as const;
  const origin = { ...from, actor };
  await requireStillActing(workspaceTrx, origin, { others: inviter ? [inviter.userId] : [] });
  // The user's email address may have changed before the lock.
  const email = (await findUser(workspaceTrx, userId))?.email;
  // The inviter may have been disabled before the lock.
  const invitation = requireValid(await findInvitation(workspaceTrx, scope, { id }));
  if (invitation.email !== email) {
    const message = `This invitation is for ${invitation.email}. Sign in with that email address to accept it.`;
    throw new AppError("FORBIDDEN", { message });
  }
  if (!(await consumeVerification(workspaceTrx, { purpose: invitationPurpose, digest }))) throw invalidLink();
  const { role } = invitation;
  if (!(await insertMember(workspaceTrx, scope, { userId, role }))) {
    throw new AppError("CONFLICT", { message: "You are already a member of this workspace." });
  }
  await requireOwnerToJoin(workspaceTrx, scope, {
    userId,
    role,
    remedy: "You can accept the invitation after an operator of this instance enables an owner.",
  });
  await endInvitation(workspaceTrx, scope, id);
  await requireMemberQuota(workspaceTrx, scope, quotas);
  await requireMembershipQuota(workspaceTrx, { scope, userId }, quotas);
  if (role === "owner") await requireOwnershipQuota(workspaceTrx, { scope, userId }, quotas);
  if (invitation.isEmailed) await markVerified(workspaceTrx, userId, origin);
  const after = { role, invitedBy: inviter?.name ?? null };
  await appendAudit(workspaceTrx, scope, origin, { action: "member.joined", targetId: userId, after });
  await bumpOwnerVersions(workspaceTrx, [userId]);
  return { id: scope.workspaceId, name, slug, role };
}

/** What the page of an invitation link shows. */
export interface InvitationPreview {
  readonly email: string;
  readonly role: Role;
  readonly workspaceName: string;
  readonly inviterName: string | null;
  /**
   * Whether the email address has an account, with which to accept. Null unless the link was emailed: the inviter has any
   * other link too, and would learn who has an account.
   */
  readonly hasAccount: boolean | null;
}

/**
 * @throws {AppError} NOT_FOUND for a link that is unknown, used, replaced, revoked or expired; FORBIDDEN if the workspace is
 *   disabled.
 */
export async function previewInvitation(db: Db, token: string): Promise<InvitationPreview> {
  const opened = await openInvitedWorkspace(db, digestLinkToken(token));
  if (!opened) throw invalidLink();
  const { scope, invitationId: id } = opened;
  return await inWorkspace(db, scope, async (trx) => {
    const { email, role, inviter, isEmailed } = requireValid(await findInvitation(trx, scope, { id }));
    const workspace = requireEnabled(await getWorkspace(trx, scope));
    const hasAccount = isEmailed ? (await findUserByEmail(trx, email)) !== undefined : null;
    return { email, role, workspaceName: workspace.name, inviterName: inviter?.name ?? null, hasAccount };
  });
}

/** @throws {AppError} NOT_FOUND */
function requireValid(invitation: Invitation | undefined): Invitation {
  if (!invitation || statusOf(invitation) !== "pending") throw invalidLink();
  return invitation;
}

/** @throws {AppError} FORBIDDEN */
function requireEnabled(workspace: Workspace): Workspace {
  if (!workspace.disabledAt) return workspace;
  const message =
    "This workspace is disabled. You can accept the invitation after an operator of this instance enables it.";
  throw workspaceDisabled(message);
}

function invalidLink(): AppError {
  const message = "This invitation has expired, was revoked, or was already accepted. Ask for a new one.";
  return new AppError("NOT_FOUND", { message });
}
