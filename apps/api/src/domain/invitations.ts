import { invitationSubject, openInvitedWorkspace } from "@latchkey/auth/workspace-access";
import { addJob } from "@latchkey/db/add-job";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { InvitationId, UserId } from "@latchkey/db/ids";
import {
  countInvitations,
  deleteOldInvitations,
  findInvitation,
  type Invitation,
  insertInvitation,
  listInvitations,
  renewInvitation,
} from "@latchkey/db/invitations";
import { isMember, listMembers } from "@latchkey/db/members";
import type { Position } from "@latchkey/db/page";
import type { Role } from "@latchkey/db/role";
import type { Db, Trx } from "@latchkey/db/schema";
import { consumeFromBucket, hourlyBucket, tryConsumeFromBucket } from "@latchkey/db/throttle-buckets";
import { findKeyOwner } from "@latchkey/db/users";
import { deleteVerifications } from "@latchkey/db/verifications";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { endInvitation } from "./end-invitation.ts";
import type { Edit } from "./enter-for-edit.ts";
import { invitationLifetimeSeconds, invitationPurpose, replaceInvitationLink } from "./invitation-link.ts";
import { enterInvitingWorkspace, type InvitingWorkspace } from "./inviting-workspace.ts";
import { type Quotas, requireInvitationsPerMember, requireQuota } from "./quotas.ts";
import { withArticle } from "./with-article.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** An invitation that was just sent. */
export interface SentInvitation {
  readonly invitation: Invitation;
  /** The link, which is not stored; undefined if it is emailed. */
  readonly url: string | undefined;
}

interface InvitationOptions {
  readonly quotas: Quotas;
  readonly baseUrl: string;
  /** Whether the instance emails links, rather than showing them to the inviter. */
  readonly sendsEmail: boolean;
}

/**
 * Invites someone to a workspace.
 * @param invited.email in lower case.
 * @throws {AppError} FORBIDDEN if the role has permissions that the actor's role doesn't have; CONFLICT if the address
 *   belongs to a member or has an invitation; UNPROCESSABLE_CONTENT at the quota; TOO_MANY_REQUESTS.
 */
export async function createInvitation(
  trx: Trx,
  edit: Edit,
  { email, role }: { readonly email: string; readonly role: Role },
  options: InvitationOptions,
): Promise<SentInvitation> {
  const { scope, origin } = edit;
  const inviting = await enterInvitingWorkspace(trx, edit);
  const { workspaceTrx, invitedBy: managedUserId, requireInvite } = inviting;
  requireInvite(role);
  await consumeInvitationRate(workspaceTrx, edit, options.quotas);
  if (await isMember(workspaceTrx, scope, email)) {
    throw new AppError("CONFLICT", { message: "This person is already a member." });
  }
  await deleteOldInvitations(workspaceTrx, scope);
  const invitedBy = inviterOf(origin);
  const lifetimeSeconds = invitationLifetimeSeconds;
  const isEmailed = options.sendsEmail && (await consumeEmailRate(workspaceTrx, email));
  const sending = { invitedBy, isEmailed, lifetimeSeconds };
  const id = await insertInvitation(workspaceTrx, scope, { email, role, ...sending });
  if (!id) {
    const other = await findInvitation(workspaceTrx, scope, { email });
    throw new AppError("CONFLICT", { message: explainConflict(inviting, other) });
  }
  // The lock on the workspace prevents concurrent additions between the insert and the count.
  const count = await countInvitations(workspaceTrx, scope);
  const quota = "invitationsPerWorkspace";
  requireQuota(options.quotas, quota, count - 1);
  if (managedUserId !== undefined)
    requireInvitationsPerMember(
      (await countInvitations(workspaceTrx, scope, { invitedBy: managedUserId })) - 1,
    );
  await addWorkspaceQuotaNotice(workspaceTrx, scope, options.quotas, { quota, count });
  const after = { email, role };
  await appendAudit(workspaceTrx, scope, origin, { action: "invitation.created", targetId: id, after });
  const sent = await sendInvitation(workspaceTrx, scope, id, options.baseUrl);
  await addNoticeJob(workspaceTrx, scope, id);
  return sent;
}

/** Says who can send or revoke the invitation that the person already has. */
function explainConflict({ manages, canInvite }: InvitingWorkspace, other: Invitation | undefined): string {
  if (!other || !manages(other))
    return "Another member has already invited this person. Ask an owner or admin to send the invitation again.";
  const { role } = other;
  if (canInvite(role)) return "This person already has an invitation. Send it again, or revoke it first.";
  const others = role === "owner" ? "an owner" : "an owner or admin";
  return `This person already has an invitation as ${withArticle(role)}. Ask ${others} to send it again or revoke it.`;
}

/**
 * Adds a job that creates the notice, whether or not the email address has an account, so that the duration of the
 * request doesn't reveal to the inviter whether it has one.
 */
async function addNoticeJob(trx: WorkspaceTrx, scope: WorkspaceScope, id: InvitationId): Promise<void> {
  const payload = { workspaceId: scope.workspaceId, invitationId: id };
  await addJob(trx, "notice-invitation", payload, { key: `notice of invitation ${id}`, maxAttempts: 15 });
}

/**
 * Sends an invitation again: it is valid for its whole lifetime again, and the old link stops working.
 * @throws {AppError} NOT_FOUND, and as {@link createInvitation}.
 */
export async function resendInvitation(
  trx: Trx,
  edit: Edit,
  id: InvitationId,
  options: InvitationOptions,
): Promise<SentInvitation> {
  const { scope, origin } = edit;
  const { workspaceTrx, requireInvite, manages } = await enterInvitingWorkspace(trx, edit);
  const { email, role } = await getManagedInvitation(workspaceTrx, { scope, id, manages });
  requireInvite(role);
  await consumeInvitationRate(workspaceTrx, edit, options.quotas);
  const invitedBy = inviterOf(origin);
  const lifetimeSeconds = invitationLifetimeSeconds;
  const isEmailed = options.sendsEmail && (await consumeEmailRate(workspaceTrx, email));
  const sending = { invitedBy, isEmailed, lifetimeSeconds };
  await renewInvitation(workspaceTrx, scope, id, sending);
  const after = { email, role };
  await appendAudit(workspaceTrx, scope, origin, { action: "invitation.resent", targetId: id, after });
  return await sendInvitation(workspaceTrx, scope, id, options.baseUrl);
}

/**
 * Replaces the link of an invitation, for a retry of the request that issued the link. The new one isn't emailed either, even if
 * emails to the address are no longer limited, because the caller waits for a link.
 * @param digest SHA-256 of the token of the issued link.
 * @returns undefined if that link is no longer valid.
 */
export async function reissueLink(
  trx: Trx,
  edit: Edit,
  digest: Buffer,
  options: InvitationOptions,
): Promise<SentInvitation | undefined> {
  const opened = await openInvitedWorkspace(trx, digest);
  if (opened?.scope.workspaceId !== edit.scope.workspaceId) return undefined;
  return await resendInvitation(trx, edit, opened.invitationId, { ...options, sendsEmail: false });
}

/** How many invitations {@link listEveryInvitation} keeps in memory at a time. */
const invitationsPerPage = 100;

/** Lists every invitation of a workspace, oldest first. One that is created while the list is read may be missing. */
export async function* listEveryInvitation(db: Db, scope: WorkspaceScope): AsyncGenerator<Invitation> {
  const order = { sort: "createdAt", direction: "asc", limit: invitationsPerPage } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const invitations = await inWorkspace(db, scope, (trx) =>
      listInvitations(trx, scope, { ...order, after }),
    );
    yield* invitations;
    const last = invitations.length === invitationsPerPage ? invitations.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** @throws {AppError} NOT_FOUND; FORBIDDEN if the actor can't invite people with the role. */
export async function revokeInvitation(trx: Trx, edit: Edit, id: InvitationId): Promise<void> {
  const { scope, origin } = edit;
  const { workspaceTrx, canInvite, manages } = await enterInvitingWorkspace(trx, edit);
  const { email, role } = await getManagedInvitation(workspaceTrx, { scope, id, manages });
  if (!canInvite(role)) throw new AppError("FORBIDDEN");
  await endInvitation(workspaceTrx, scope, id);
  const before = { email, role };
  await appendAudit(workspaceTrx, scope, origin, { action: "invitation.revoked", targetId: id, before });
}

/** @throws {AppError} NOT_FOUND */
export async function getInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
): Promise<Invitation> {
  const invitation = await findInvitation(trx, scope, { id });
  return invitation ?? invitationNotFound();
}

/** @throws {AppError} NOT_FOUND, including for another member's invitation that the actor doesn't manage. */
async function getManagedInvitation(
  trx: WorkspaceTrx,
  {
    scope,
    id,
    manages,
  }: Pick<InvitingWorkspace, "manages"> & { readonly scope: WorkspaceScope; readonly id: InvitationId },
): Promise<Invitation> {
  const invitation = await getInvitation(trx, scope, id);
  return manages(invitation) ? invitation : invitationNotFound();
}

function invitationNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such invitation." });
}

function inviterOf({ actor }: Origin): UserId | null {
  return actor.kind === "command" ? null : actor.userId;
}

/** Makes the old link invalid, and adds the job that emails a new one, or returns it if the invitation isn't emailed. */
async function sendInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
  baseUrl: string,
): Promise<SentInvitation> {
  const invitation = await getInvitation(trx, scope, id);
  if (!invitation.isEmailed) return { invitation, url: await replaceInvitationLink(trx, scope, id, baseUrl) };
  await deleteVerifications(trx, { purpose: invitationPurpose, subject: invitationSubject(scope, id) });
  const payload = { workspaceId: scope.workspaceId, invitationId: id };
  await addJob(trx, "send-invitation", payload, { key: `invitation ${id}`, maxAttempts: 15 });
  return { invitation, url: undefined };
}

/** How many invitations are emailed to one email address per hour, by all inviters together. */
const maxEmailsPerHour = 10;

/**
 * Whether an invitation may be emailed. The limit keeps many accounts together from flooding one mailbox. Beyond it, the
 * inviter gets the link instead of an error, because one workspace must not block the invitations of others.
 */
async function consumeEmailRate(trx: Trx, email: string): Promise<boolean> {
  return await tryConsumeFromBucket(trx, hourlyBucket(`invitations to ${email}`, maxEmailsPerHour));
}

/** @throws {AppError} TOO_MANY_REQUESTS, so that no one can send email to an unlimited number of people. */
async function consumeInvitationRate(
  trx: WorkspaceTrx,
  edit: Edit,
  { invitationsPerHour }: Quotas,
): Promise<void> {
  const sender = await findSender(trx, edit);
  if (!sender) return;
  const bucket = hourlyBucket(sender.subject, invitationsPerHour);
  const waitSeconds = Math.ceil(await consumeFromBucket(trx, bucket));
  if (waitSeconds === 0) return;
  throw new AppError("TOO_MANY_REQUESTS", {
    message: [
      `${sender.description} reached the limit of `,
      { count: invitationsPerHour },
      " invitations per hour. Try again later.",
    ],
    retryAfterSeconds: waitSeconds,
  });
}

/**
 * Returns whose invitations are counted together; undefined for the command. A person can create any number of service accounts and
 * workspaces, one after the other, so all service accounts in the workspaces of an owner share a bucket. In a workspace with several
 * owners, it is the bucket of the owner who joined first. Otherwise, someone could use up the bucket of another person by making
 * that person an owner.
 */
async function findSender(
  trx: WorkspaceTrx,
  { scope, origin: { actor } }: Edit,
): Promise<{ readonly subject: string; readonly description: string } | undefined> {
  if (actor.kind === "command") return undefined;
  const { userId } = actor;
  if (actor.kind === "key" && (await findKeyOwner(trx, userId))?.kind === "service_account") {
    const first = { sort: "joinedAt", direction: "asc", limit: 1, filter: { role: "owner" } } as const;
    const [owner] = await listMembers(trx, scope, first);
    return {
      subject: `invitations by service accounts of ${owner?.userId}`,
      description: "The service accounts of this workspace and of others with the same owner have",
    };
  }
  return { subject: `invitations of ${userId}`, description: "You have" };
}
