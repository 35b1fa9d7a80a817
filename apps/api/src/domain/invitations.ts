import { createHash } from "node:crypto";
import { canInviteAs } from "@latchkey/auth/restrictions";
import { invitationSubject, openAsOperator, openInvitedWorkspace } from "@latchkey/auth/workspace-access";
import { addJob } from "@latchkey/db/add-job";
import type { Origin, RequestOrigin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { InvitationId, SessionId, UserId, WorkspaceId } from "@latchkey/db/ids";
import {
  countInvitations,
  deleteOldInvitations,
  findInvitation,
  type Invitation,
  insertInvitation,
  listInvitations,
  renewInvitation,
} from "@latchkey/db/invitations";
import type { JobPayloads } from "@latchkey/db/job";
import { insertMember, isMember } from "@latchkey/db/members";
import { addNotices, hasTurnedOffInvitations } from "@latchkey/db/notices";
import type { Position } from "@latchkey/db/page";
import type { Db, Role, Trx } from "@latchkey/db/schema";
import { takeFromBucket } from "@latchkey/db/throttle-buckets";
import { findUserByEmail, findVerifiedUserId } from "@latchkey/db/users";
import { deleteVerifications, insertVerification, takeVerification } from "@latchkey/db/verifications";
import {
  enterWorkspace,
  inWorkspace,
  type WorkspaceScope,
  type WorkspaceTrx,
} from "@latchkey/db/workspace-scope";
import { lockWorkspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { markVerified } from "./email-verification.ts";
import { endInvitation } from "./end-invitation.ts";
import { enterInvitingWorkspace, type InvitingWorkspace } from "./inviting-workspace.ts";
import { createLinkToken, digestLinkToken } from "./link-token.ts";
import { requireMemberQuota, requireOwnershipQuota } from "./members.ts";
import { type Quotas, requireInvitationsPerMember, requireQuota } from "./quotas.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";
import { type Edit, getWorkspace, requireStillActing } from "./workspaces.ts";

const purpose = "invitation";

/** How long an invitation is valid, in seconds: seven days. */
export const invitationLifetimeSeconds = 604_800;

/**
 * `invalid`: the user who sent the invitation is disabled, is no longer a member, or can no longer invite people with the role.
 * Another user can send it again.
 */
export type InvitationStatus = "pending" | "expired" | "invalid";

export function statusOf({ isExpired, inviter, role }: Invitation): InvitationStatus {
  if (isExpired) return "expired";
  if (inviter === null) return "pending"; // The `latchkey` command can grant every role.
  const isValid = !inviter.isDisabled && inviter.role && canInviteAs(inviter.role, undefined, role);
  return isValid ? "pending" : "invalid";
}

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
  const {
    workspaceTrx,
    manages,
    invitedBy: managedUserId,
    requireInvite,
  } = await enterInvitingWorkspace(trx, edit);
  requireInvite(role);
  await takeInvitationRate(workspaceTrx, origin, options.quotas);
  if (await isMember(workspaceTrx, scope, email)) {
    throw new AppError("CONFLICT", { message: "This person is already a member." });
  }
  await deleteOldInvitations(workspaceTrx, scope);
  const invitedBy = inviterOf(origin);
  const lifetimeSeconds = invitationLifetimeSeconds;
  const sending = { invitedBy, isEmailed: options.sendsEmail, lifetimeSeconds };
  const id = await insertInvitation(workspaceTrx, scope, { email, role, ...sending });
  if (!id) {
    const other = await findInvitation(workspaceTrx, scope, { email });
    const message =
      other && manages(other)
        ? "This person already has an invitation. Send it again, or revoke it first."
        : "Another member has already invited this person. Ask an owner or admin to send the invitation again.";
    throw new AppError("CONFLICT", { message });
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
  const sent = await sendInvitation(workspaceTrx, scope, id, options);
  await addNoticeJob(workspaceTrx, scope, id);
  return sent;
}

/**
 * Adds a job that creates the notice, whether or not the email address has an account, so that the duration of the request
 * doesn't tell the inviter which.
 */
async function addNoticeJob(trx: WorkspaceTrx, scope: WorkspaceScope, id: InvitationId): Promise<void> {
  const payload = { workspaceId: scope.workspaceId, invitationId: id };
  await addJob(trx, "notice-invitation", payload, { key: `notice of invitation ${id}`, maxAttempts: 15 });
}

/**
 * Creates the notice of an invitation in the app, if an account has verified its email address, because anyone can sign
 * up with an email address that they can't read.
 * Does nothing for an invitation that was accepted or revoked, or is no longer valid.
 */
export async function addInvitationNotice(
  db: Db,
  { workspaceId, invitationId: id }: JobPayloads["notice-invitation"],
): Promise<void> {
  const scope = openAsOperator(workspaceId);
  await inWorkspace(db, scope, async (trx) => {
    // Prevents that the invitation is accepted or revoked between the check and the insert, which would leave a notice
    // that nothing deletes.
    if (!(await lockWorkspace(trx, scope))) return;
    const invitation = await findInvitation(trx, scope, { id });
    if (!invitation || statusOf(invitation) !== "pending") return;
    const { email, role, inviter } = invitation;
    const userId = await findVerifiedUserId(trx, email);
    if (!userId) return;
    const { name: workspaceName } = await getWorkspace(trx, scope);
    const facts = { workspaceName, role, inviterName: inviter?.name ?? null };
    await addNotices(trx, [{ kind: "invitation", userId, subject: id, facts }]);
  });
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
  await takeInvitationRate(workspaceTrx, origin, options.quotas);
  const invitedBy = inviterOf(origin);
  const lifetimeSeconds = invitationLifetimeSeconds;
  const sending = { invitedBy, isEmailed: options.sendsEmail, lifetimeSeconds };
  await renewInvitation(workspaceTrx, scope, id, sending);
  const after = { email, role };
  await appendAudit(workspaceTrx, scope, origin, { action: "invitation.resent", targetId: id, after });
  return await sendInvitation(workspaceTrx, scope, id, options);
}

/**
 * Replaces the link of an invitation, for a retry of the request that issued the link.
 * @param digest SHA-256 of the token of the issued link.
 * @returns undefined if that link is no longer valid.
 */
export async function reissueLink(
  trx: Trx,
  edit: Edit,
  digest: Buffer,
  options: InvitationOptions,
): Promise<string | undefined> {
  const opened = await openInvitedWorkspace(trx, digest);
  if (opened?.scope.workspaceId !== edit.scope.workspaceId) return undefined;
  const { url } = await resendInvitation(trx, edit, opened.invitationId, options);
  return url;
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

/** @throws {AppError} NOT_FOUND for a link that is unknown, used, replaced, revoked or expired. */
export async function previewInvitation(db: Db, token: string): Promise<InvitationPreview> {
  const opened = await openInvitedWorkspace(db, digestLinkToken(token));
  if (!opened) throw invalidLink();
  const { scope, invitationId: id } = opened;
  return await inWorkspace(db, scope, async (trx) => {
    const { email, role, inviter, isEmailed } = requireValid(await findInvitation(trx, scope, { id }));
    const { name: workspaceName } = await getWorkspace(trx, scope);
    const hasAccount = isEmailed ? (await findUserByEmail(trx, email)) !== undefined : null;
    return { email, role, workspaceName, inviterName: inviter?.name ?? null, hasAccount };
  });
}

/** The user who accepts an invitation. */
interface Invitee {
  readonly userId: UserId;
  readonly email: string;
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
 * @throws {AppError} NOT_FOUND for an invalid link; FORBIDDEN if the invitation is for another email address; CONFLICT
 *   for a member; UNPROCESSABLE_CONTENT at a quota; UNAUTHORIZED if the session has ended.
 */
export async function acceptInvitation(
  trx: Trx,
  token: string,
  { userId, email, sessionId, ...from }: Invitee & RequestOrigin,
  quotas: Quotas,
): Promise<JoinedWorkspace> {
  const digest = digestLinkToken(token);
  const opened = await openInvitedWorkspace(trx, digest);
  if (!opened) throw invalidLink();
  const { scope, invitationId: id } = opened;
  const workspaceTrx = await enterWorkspace(trx, scope);
  if (!(await lockWorkspace(workspaceTrx, scope))) throw invalidLink();
  const { inviter } = requireValid(await findInvitation(workspaceTrx, scope, { id }));
  const actor = {
    kind: "session",
    userId,
    isRecentlyAuthenticated: true,
    ...(sessionId && { sessionId }),
  } as const;
  const origin = { ...from, actor };
  await requireStillActing(workspaceTrx, origin, { others: inviter ? [inviter.userId] : [] });
  // The inviter may have been disabled before the lock.
  const invitation = requireValid(await findInvitation(workspaceTrx, scope, { id }));
  if (invitation.email !== email) {
    const message = `This invitation is for ${invitation.email}. Sign in with that email address to accept it.`;
    throw new AppError("FORBIDDEN", { message });
  }
  if (!(await takeVerification(workspaceTrx, { purpose, digest }))) throw invalidLink();
  const { role } = invitation;
  if (!(await insertMember(workspaceTrx, scope, { userId, role }))) {
    throw new AppError("CONFLICT", { message: "You are already a member of this workspace." });
  }
  await endInvitation(workspaceTrx, scope, id);
  await requireMemberQuota(workspaceTrx, scope, quotas);
  if (role === "owner") await requireOwnershipQuota(workspaceTrx, { scope, userId }, quotas);
  if (invitation.isEmailed) await markVerified(workspaceTrx, userId, origin);
  const after = { role, invitedBy: inviter?.name ?? null };
  await appendAudit(workspaceTrx, scope, origin, { action: "member.joined", targetId: userId, after });
  const { name, slug } = await getWorkspace(workspaceTrx, scope);
  return { id: scope.workspaceId, name, slug, role };
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

/** Makes the old link invalid, and returns a new one or adds the job that emails it. */
async function sendInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
  { baseUrl, sendsEmail }: InvitationOptions,
): Promise<SentInvitation> {
  const invitation = await getInvitation(trx, scope, id);
  if (!sendsEmail) return { invitation, url: await replaceLink(trx, scope, id, baseUrl) };
  await deleteVerifications(trx, { purpose, subject: invitationSubject(scope, id) });
  const payload = { workspaceId: scope.workspaceId, invitationId: id };
  await addJob(trx, "send-invitation", payload, { key: `invitation ${id}`, maxAttempts: 15 });
  return { invitation, url: undefined };
}

/** Replaces the link of an invitation. The token is in the URL's fragment, which browsers don't send to servers. */
async function replaceLink(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
  baseUrl: string,
): Promise<string> {
  const subject = invitationSubject(scope, id);
  const token = createLinkToken();
  await deleteVerifications(trx, { purpose, subject });
  const name = { purpose, digest: digestLinkToken(token) } as const;
  await insertVerification(trx, name, { subject, lifetimeSeconds: invitationLifetimeSeconds });
  return `${baseUrl}/invitation#${token}`;
}

/** An invitation, and the link to email. */
export interface InvitationToEmail {
  readonly email: string;
  readonly role: Role;
  readonly workspaceName: string;
  readonly inviterName: string | null;
  readonly expiresAt: Date;
  readonly url: string;
}

/**
 * Creates the link of an invitation that is to be emailed, just before it is sent, so that it is stored nowhere.
 * @returns undefined if the invitation was accepted or revoked, or is no longer valid, and if its recipient has turned off
 *   these emails.
 */
export async function prepareInvitationEmail(
  db: Db,
  { workspaceId, invitationId: id }: JobPayloads["send-invitation"],
  baseUrl: string,
): Promise<InvitationToEmail | undefined> {
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    if (!(await lockWorkspace(trx, scope))) return undefined;
    const invitation = await findInvitation(trx, scope, { id });
    if (!invitation?.isEmailed || statusOf(invitation) !== "pending") return undefined;
    if (await hasTurnedOffInvitations(trx, invitation.email)) return undefined;
    const { email, role, inviter, expiresAt } = invitation;
    const { name: workspaceName } = await getWorkspace(trx, scope);
    const url = await replaceLink(trx, scope, id, baseUrl);
    return { email, role, workspaceName, inviterName: inviter?.name ?? null, expiresAt, url };
  });
}

/** The digest of the token in a link. */
export function digestLink(url: string): Buffer {
  return digestLinkToken(url.slice(url.indexOf("#") + 1));
}

/** @throws {AppError} TOO_MANY_REQUESTS, so that no one can send email to an unlimited number of people. */
async function takeInvitationRate(
  trx: Trx,
  { actor }: Origin,
  { invitationsPerHour }: Quotas,
): Promise<void> {
  if (actor.kind === "command") return;
  const digest = createHash("sha256").update(`invitations of ${actor.userId}`).digest();
  const bucket = { digest, capacity: invitationsPerHour, refillSeconds: 3_600 / invitationsPerHour };
  const waitSeconds = Math.ceil(await takeFromBucket(trx, bucket));
  if (waitSeconds === 0) return;
  throw new AppError("TOO_MANY_REQUESTS", {
    message: [
      "You have sent ",
      { count: invitationsPerHour },
      " invitations within an hour, which is the limit. Try again later.",
    ],
    retryAfterSeconds: waitSeconds,
  });
}

/** @throws {AppError} NOT_FOUND */
function requireValid(invitation: Invitation | undefined): Invitation {
  if (!invitation || statusOf(invitation) !== "pending") throw invalidLink();
  return invitation;
}

function invalidLink(): AppError {
  const message = "This invitation has expired, was revoked, or was already accepted. Ask for a new one.";
  return new AppError("NOT_FOUND", { message });
}
