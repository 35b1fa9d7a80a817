import { networkOf } from "@latchkey/auth/client-network";
import { hashPassword, verifyPassword } from "@latchkey/auth/password";
import { type PasswordSource, queuePassword } from "@latchkey/auth/password-queue";
import type { SessionUser } from "@latchkey/auth/sessions";
import type { Origin } from "@latchkey/db/audit-actions";
import type { SessionId, UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions, lockLiveSession, recordAuthentication } from "@latchkey/db/sessions";
import { findPasswordHash, renameUser, replacePasswordHash, setPasswordHash } from "@latchkey/db/users";
import { deleteVerifications } from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";
import { consumeAccountChangeQuota, consumePasswordChangeQuota } from "./account-change-quota.ts";
import { requireStrongPassword } from "./accounts.ts";
import { checkCode } from "./factor-codes.ts";
import { endPendingSignIns } from "./pending-sign-in.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";
import { consumeSignInAttempt, refundUnchecked, type Visitor } from "./sign-in-attempts.ts";
import { signInRequired } from "./sign-in-required.ts";

/** Changes to a user's own account. */

/** The session of a user who changes their account. */
export interface AccountEdit {
  readonly userId: UserId;
  readonly sessionId: SessionId;
  readonly origin: Origin;
}

/**
 * Locks the user and the session of the request, and checks that it hasn't ended since it was read.
 * @throws {AppError} UNAUTHORIZED
 */
export async function lockAccount(
  trx: Trx,
  { userId, sessionId }: Omit<AccountEdit, "origin">,
): Promise<void> {
  await lockUsers(trx, [userId]);
  if (!(await lockLiveSession(trx, sessionId))) throw signInRequired();
}

/** Changes the user's name, which other members of their workspaces see. @throws {AppError} TOO_MANY_REQUESTS */
export async function changeOwnName(trx: Trx, edit: AccountEdit, name: string): Promise<void> {
  const { userId, origin } = edit;
  await lockAccount(trx, edit);
  const former = await renameUser(trx, userId, name);
  if (former === name) return;
  await consumeAccountChangeQuota(trx, userId);
  const change = { before: { name: former }, after: { name } };
  await appendSecurityEvent(trx, origin, { userId, action: "account.renamed", ...change });
}

/** A change to a user's own password. It reads and changes within the user's limits. */
interface PasswordEdit extends Pick<AccountEdit, "sessionId" | "origin"> {
  readonly user: SessionUser;
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/**
 * Checks the user's current password, and replaces it. All other sessions end, and password reset links become
 * invalid.
 * @throws {AppError} BAD_REQUEST with an issue for `currentPassword` if it is wrong, or for `newPassword` if it is easy
 *   to guess; TOO_MANY_REQUESTS after too many wrong ones, which count like failed sign-ins, or too many changes; CONFLICT if
 *   another request has changed the password since; SERVICE_UNAVAILABLE if too many passwords wait to be checked.
 */
export async function changePassword(
  services: Pick<Services, "report" | "signInThrottle">,
  { user, sessionId, origin, read, transact }: PasswordEdit,
  passwords: { readonly currentPassword: string; readonly newPassword: string },
  visitor: Visitor,
): Promise<void> {
  await requireStrongPassword(passwords.newPassword, user, "newPassword");
  const current = { path: "currentPassword", password: passwords.currentPassword };
  const { former, source } = await checkOwnPassword(services, { user, read, ...current }, visitor);
  const next = await queuePassword(source, () => hashPassword(passwords.newPassword));
  await transact(async (trx) => {
    await lockAccount(trx, { userId: user.id, sessionId });
    if (!(await replacePasswordHash(trx, user.id, { former, next }))) {
      const message = "Your password has just been changed. Enter the new one as the current password.";
      throw new AppError("CONFLICT", { message });
    }
    await consumePasswordChangeQuota(trx, user.id);
    await endOtherAccess(trx, user.id, sessionId);
    await appendSecurityEvent(trx, origin, { userId: user.id, action: "password.changed" });
  });
}

/** Ends other sessions, password reset links, and pending sign-ins. */
async function endOtherAccess(trx: Trx, userId: UserId, sessionId: SessionId): Promise<void> {
  await endSessions(trx, userId, { except: sessionId });
  await endPendingSignIns(trx, userId);
  for (const purpose of ["password-reset", "emailed-password-reset"] as const)
    await deleteVerifications(trx, { purpose, subject: userId });
}

/**
 * Gives a password to a user who signs in with an OpenID provider. All other sessions end.
 * @throws {AppError} BAD_REQUEST with an issue for `newPassword` if it is easy to guess; FORBIDDEN without a recent
 *   authentication; CONFLICT if the user has a password; SERVICE_UNAVAILABLE if too many passwords wait to be hashed.
 */
export async function setFirstPassword(
  { user, sessionId, origin, transact }: Omit<PasswordEdit, "read">,
  newPassword: string,
  { address }: Visitor,
): Promise<void> {
  requireRecentAuthentication(origin);
  await requireStrongPassword(newPassword, user, "newPassword");
  const source = { network: networkOf(address), knownOrigin: undefined };
  const hash = await queuePassword(source, () => hashPassword(newPassword));
  await transact(async (trx) => {
    await lockAccount(trx, { userId: user.id, sessionId });
    if ((await findPasswordHash(trx, user.id)) !== undefined) {
      const message = "You have a password. Enter it to change it.";
      throw new AppError("CONFLICT", { message });
    }
    await setPasswordHash(trx, user.id, hash);
    await endOtherAccess(trx, user.id, sessionId);
    await appendSecurityEvent(trx, origin, { userId: user.id, action: "password.set" });
  });
}

/**
 * Checks the user's password and, if the user has a second factor, a code. The session may then make sensitive changes
 * for 15 minutes.
 * @throws {AppError} BAD_REQUEST with an issue for `password` or `code` if it is wrong, or the code is missing;
 *   TOO_MANY_REQUESTS after too many wrong ones, which count like failed sign-ins; SERVICE_UNAVAILABLE if too many
 *   passwords wait to be checked.
 */
export async function confirmPassword(
  services: Pick<Services, "report" | "signInThrottle" | "factorSecrets">,
  { user, sessionId, read, transact }: Omit<PasswordEdit, "origin">,
  { password, code }: { readonly password: string; readonly code?: string | undefined },
  visitor: Visitor,
): Promise<void> {
  await checkOwnPassword(services, { user, read, path: "password", password }, visitor);
  const confirm = async (trx: Trx) => {
    await lockAccount(trx, { userId: user.id, sessionId });
    await recordAuthentication(trx, sessionId);
  };
  if (!(await read((db) => hasSecondFactor(db, user.id)))) return await transact(confirm);
  if (code === undefined) throw missingCode();
  await checkCode(services, { user, code, transact }, visitor, confirm);
}

/** The error for a confirmation without the code of the second factor. */
export function missingCode(): AppError {
  const message = "Enter a code from your authenticator app, or a recovery code.";
  return new AppError("BAD_REQUEST", { issues: [{ path: "code", code: "required", message }] });
}

/**
 * Checks the password that a signed-in user entered in the field `path`.
 * @returns its hash, and the source of the attempt for the queue of passwords.
 */
async function checkOwnPassword(
  services: Pick<Services, "report" | "signInThrottle">,
  { user, read, path, password }: Pick<PasswordEdit, "user" | "read"> & { path: string; password: string },
  visitor: Visitor,
): Promise<{ readonly former: string; readonly source: PasswordSource }> {
  const attempt = await consumeSignInAttempt(services, user.email, visitor);
  const { source } = attempt;
  const verify = async () => {
    const former = await read((db) => findPasswordHash(db, user.id));
    if (former === undefined) throw new AppError("CONFLICT", { message: "This account has no password." });
    return { former, isCorrect: await queuePassword(source, () => verifyPassword(former, password)) };
  };
  // A wrong password doesn't throw here, so an attempt is refunded only if no password was checked.
  const { former, isCorrect } = await verify().catch(async (error: unknown) => {
    await refundUnchecked(attempt);
    throw error;
  });
  if (!isCorrect) {
    const message = "This is not your current password.";
    throw new AppError("BAD_REQUEST", { issues: [{ path, code: "invalid_value", message }] });
  }
  await attempt.refund();
  return { former, source };
}

/** Ends one of the user's sessions. @throws {AppError} NOT_FOUND if it has ended or isn't theirs. */
export async function endSession(trx: Trx, edit: AccountEdit, id: SessionId): Promise<void> {
  const { userId, origin } = edit;
  await lockAccount(trx, edit);
  if ((await endSessions(trx, userId, { id })) === 0) {
    throw new AppError("NOT_FOUND", { message: "This session has already ended." });
  }
  await appendSecurityEvent(trx, origin, { userId, action: "session.ended", after: { count: 1 } });
}

/** Ends the user's sessions except the current one. Returns how many ended. */
export async function endOtherSessions(trx: Trx, edit: AccountEdit): Promise<number> {
  const { userId, sessionId, origin } = edit;
  await lockAccount(trx, edit);
  const count = await endSessions(trx, userId, { except: sessionId });
  await endPendingSignIns(trx, userId);
  if (count > 0)
    await appendSecurityEvent(trx, origin, { userId, action: "session.ended", after: { count } });
  return count;
}

/** Ends all sessions of the user, including the current one. */
export async function signOutEverywhere(trx: Trx, edit: AccountEdit): Promise<void> {
  const { userId, origin } = edit;
  await lockAccount(trx, edit);
  const count = await endSessions(trx, userId, "all");
  await endPendingSignIns(trx, userId);
  await appendSecurityEvent(trx, origin, { userId, action: "session.signed-out", after: { count } });
}
