import { networkOf } from "@latchkey/auth/client-network";
import { hashPassword } from "@latchkey/auth/password";
import { queuePassword } from "@latchkey/auth/password-queue";
import { addJob } from "@latchkey/db/add-job";
import type { Origin, RequestOrigin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import type { JobPayloads } from "@latchkey/db/job";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions } from "@latchkey/db/sessions";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import { findUser, findUserByEmail, hasVerifiedEmail, setPasswordHash } from "@latchkey/db/users";
import {
  consumeVerification,
  deleteVerifications,
  deleteVerificationsOfBothPurposes,
  findVerification,
  insertVerification,
  type VerificationName,
} from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";
import { getAccount, requireStrongPassword, type UserReference } from "./accounts.ts";
import { markVerified } from "./email-verification.ts";
import { createLinkToken, digestLinkToken } from "./link-token.ts";
import { lockWithOperators } from "./operators.ts";
import { endPendingSignIns } from "./pending-sign-in.ts";
import { removeUnverifiedAccess } from "./remove-unverified-access.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";
import type { Visitor } from "./sign-in-attempts.ts";

const purpose = "password-reset";
/**
 * The purpose of a second record with the same token, for links that were emailed. It is separate so that nodes of the
 * previous version can still use the link.
 */
const emailedPurpose = "emailed-password-reset";

/** How long a link is valid by default, in seconds. */
export const resetLifetimeSeconds = 86_400;

/** How long an emailed link is valid, in seconds. */
const emailedLifetimeSeconds = 3_600;

/**
 * Creates a password reset link, which works once. Earlier links of the user become invalid. The token
 * is in the URL's fragment, which browsers don't send, so that it reaches no log of a server or proxy.
 * @throws {AppError} NOT_FOUND
 */
export async function createResetLink(
  db: Db,
  user: UserReference,
  {
    baseUrl,
    lifetimeSeconds,
    origin,
  }: { readonly baseUrl: string; readonly lifetimeSeconds: number; readonly origin: Origin },
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  const { id: userId } = await getAccount(db, user);
  return await db.transaction().execute(async (trx) => {
    const link = await replaceLink(trx, userId, { baseUrl, lifetimeSeconds });
    await appendSecurityEvent(trx, origin, { userId, action: "password.reset-link-created" });
    return link;
  });
}

/**
 * Creates a password reset link, for an operator in the web app.
 * @throws {AppError} FORBIDDEN without recent authentication: the link gives access to the account; NOT_FOUND
 */
export async function createResetLinkAsOperator(
  trx: Trx,
  userId: UserId,
  { baseUrl, origin }: { readonly baseUrl: string; readonly origin: Origin },
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  requireRecentAuthentication(origin);
  await lockWithOperators(trx, [userId], origin);
  const link = await replaceLink(trx, userId, { baseUrl, lifetimeSeconds: resetLifetimeSeconds });
  await appendSecurityEvent(trx, origin, { userId, action: "password.reset-link-created" });
  return link;
}

/**
 * An emailed link replaces only emailed links: anyone can request one, and would otherwise make the operator's link invalid.
 * @throws {AppError} NOT_FOUND
 */
async function replaceLink(
  trx: Trx,
  userId: UserId,
  {
    baseUrl,
    lifetimeSeconds,
    emailedTo,
  }: {
    readonly baseUrl: string;
    readonly lifetimeSeconds: number;
    /** The email address to which the link is sent; undefined if an operator gets it. */
    readonly emailedTo?: string;
  },
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  const token = createLinkToken();
  await lockUsers(trx, [userId]);
  await getAccount(trx, { id: userId }); // The user may have been deleted since they were found.
  if (emailedTo === undefined) await deleteAllLinks(trx, userId);
  else
    await deleteVerificationsOfBothPurposes(trx, {
      purpose: emailedPurpose,
      otherPurpose: purpose,
      subject: userId,
    });
  const expiresAt = await insertVerification(trx, nameOf(token), { subject: userId, lifetimeSeconds });
  if (emailedTo !== undefined) {
    const subject = `${userId} ${emailedTo}`;
    await insertVerification(trx, emailedNameOf(token), { subject, lifetimeSeconds });
  }
  return { url: `${baseUrl}/reset-password#${token}`, expiresAt };
}

async function deleteAllLinks(trx: Trx, userId: UserId): Promise<void> {
  for (const outdated of [purpose, emailedPurpose] as const)
    await deleteVerifications(trx, { purpose: outdated, subject: userId });
}

/**
 * Adds a job that emails a password reset link to a user. An email address without an account
 * gets the same response in the same time.
 * @param email in lower case.
 * @throws {AppError} CONFLICT if the instance sends no email; TOO_MANY_REQUESTS after too many requests from this network.
 */
export async function requestResetLink(
  { db, sendsEmail, signInThrottle }: Pick<Services, "db" | "sendsEmail" | "signInThrottle">,
  email: string,
  request: RequestOrigin & Pick<Visitor, "requestId">,
): Promise<void> {
  if (!sendsEmail) {
    const message = "This instance does not send email. Ask its operator for a password reset link.";
    throw new AppError("CONFLICT", { message });
  }
  // No further link is sent to an email address that has just got several. The response is the same.
  if (!(await signInThrottle.consumeResetRequest(email, request.address))) return;
  const job = { key: `reset-link ${email}`, maxAttempts: 8 };
  await db.transaction().execute((trx) => addJob(trx, "send-reset-link", { email, ...request }, job));
}

/** A password reset link, to email. */
export interface ResetLinkToEmail {
  readonly userId: UserId;
  readonly name: string;
  readonly url: string;
  /** Whether opening the link verifies the email address, which deletes what gives access to the account. */
  readonly removesAccess: boolean;
}

/**
 * Creates the link to email, just before it is sent, so that it is stored nowhere. Returns undefined without an account
 * that can sign in.
 */
export async function prepareResetEmail(
  db: Db,
  email: string,
  baseUrl: string,
): Promise<ResetLinkToEmail | undefined> {
  const user = await findUserByEmail(db, email);
  if (!user || user.isDisabled) return undefined;
  const { id: userId, name } = user;
  const options = { baseUrl, lifetimeSeconds: emailedLifetimeSeconds, emailedTo: email };
  return await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    // The email address may have been changed since the user was found.
    if ((await findUser(trx, userId))?.email !== email) return undefined;
    const { url } = await replaceLink(trx, userId, options);
    return { userId, name, url, removesAccess: !(await hasVerifiedEmail(trx, userId)) };
  });
}

/**
 * Records in the security log of a user that a link was emailed, with the IP address and device of the request for it. Does nothing if
 * the user was deleted.
 */
export async function recordResetEmail(
  db: Db,
  userId: UserId,
  { address, requestId, userAgent = null }: JobPayloads["send-reset-link"],
): Promise<void> {
  const actor = { kind: "session", userId, isRecentlyAuthenticated: false } as const;
  const origin = { actor, address, requestId, userAgent };
  const event = { userId, action: "password.reset-link-emailed" } as const;
  const append = db.transaction().execute((trx) => appendSecurityEvent(trx, origin, event));
  await append.catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error; // The user was deleted concurrently.
  });
}

/**
 * Replaces the password of the user for whom a link was created. All sessions of the user end, and all links become
 * invalid. A disabled user stays disabled. Second factors stay, unless the link was emailed to an email address that is not
 * verified: then the email address is verified, and everything that gave access to the account before is deleted.
 * @param token from the link.
 * @throws {AppError} NOT_FOUND for a link that is unknown, expired or used; BAD_REQUEST with an issue for `newPassword`
 *   if it is easy to guess; SERVICE_UNAVAILABLE if too many passwords wait to be hashed.
 */
export async function resetPassword(
  { db }: Pick<Services, "db">,
  { token, newPassword }: { readonly token: string; readonly newPassword: string },
  request: RequestOrigin,
): Promise<void> {
  const name = nameOf(token);
  const user = await findSubject(db, name);
  await requireStrongPassword(newPassword, user, "newPassword");
  const source = { network: networkOf(request.address), knownOrigin: undefined };
  const hash = await queuePassword(source, () => hashPassword(newPassword));
  await db.transaction().execute(async (trx: Trx) => {
    await lockUsers(trx, [user.id]);
    if (!(await consumeVerification(trx, name))) throw expired();
    const provesEmail = await isUnverifiedMailbox(trx, user.id, token);
    await endPendingSignIns(trx, user.id);
    await deleteAllLinks(trx, user.id);
    await setPasswordHash(trx, user.id, hash);
    await endSessions(trx, user.id, "all");
    const origin = {
      actor: { kind: "session", userId: user.id, isRecentlyAuthenticated: true },
      ...request,
    } as const;
    await appendSecurityEvent(trx, origin, { userId: user.id, action: "password.reset" });
    if (!provesEmail) return;
    await markVerified(trx, user.id, origin);
    await removeUnverifiedAccess(trx, user.id, origin);
  });
}

/**
 * Returns the email address of the user for whom a link was created, and whether a new password deletes what gives access to
 * the account.
 * @throws {AppError} NOT_FOUND
 */
export async function findResetAccount(
  db: Db,
  token: string,
): Promise<{ readonly email: string; readonly removesAccess: boolean }> {
  const { id, email } = await findSubject(db, nameOf(token));
  return { email, removesAccess: await isUnverifiedMailbox(db, id, token) };
}

/** Whether a link was emailed to the email address of a user who has not verified it. */
async function isUnverifiedMailbox(db: Db, userId: UserId, token: string): Promise<boolean> {
  const emailed = await findVerification(db, emailedNameOf(token));
  const user = await findUser(db, userId);
  return emailed === `${userId} ${user?.email}` && !(await hasVerifiedEmail(db, userId));
}

async function findSubject(db: Db, name: VerificationName) {
  const subject = await findVerification(db, name);
  const user = subject && (await findUser(db, subject as UserId)); // The value of this purpose is a user's ID.
  if (!user) throw expired();
  return user;
}

function nameOf(token: string): VerificationName {
  return { purpose, digest: digestLinkToken(token) };
}

function emailedNameOf(token: string): VerificationName {
  return { purpose: emailedPurpose, digest: digestLinkToken(token) };
}

function expired(): AppError {
  const message = "This link has expired or was already used. Ask for a new one.";
  return new AppError("NOT_FOUND", { message });
}
