import type { SessionUser } from "@latchkey/auth/sessions";
import { addJob } from "@latchkey/db/add-job";
import type { Origin } from "@latchkey/db/audit-actions";
import type { SessionId, UserId } from "@latchkey/db/ids";
import { willSendEmail } from "@latchkey/db/instance-settings";
import type { JobPayloads } from "@latchkey/db/job";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { replaceOrigins } from "@latchkey/db/sign-in-origins";
import { changeUserEmail, findUser, findUserByEmail, type User } from "@latchkey/db/users";
import {
  consumeVerification,
  deleteVerifications,
  findVerification,
  insertVerification,
  type VerificationName,
} from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount } from "./account.ts";
import { consumeAccountChangeQuota } from "./account-change-quota.ts";
import { getAccount, type UserReference } from "./accounts.ts";
import { createLinkToken, digestLinkToken } from "./link-token.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";
import type { Visitor } from "./sign-in-attempts.ts";

const purpose = "email-change";

/** How long the link is valid, in seconds. */
const lifetimeSeconds = 3_600;

/**
 * Adds a job that emails a link to a user's new email address. The account's email address changes when the user opens
 * the link in a session of the account. The response doesn't reveal whether the new email address has an account.
 * @param email the new email address, in lower case.
 * @throws {AppError} CONFLICT if the instance sends no email; FORBIDDEN without recent authentication; BAD_REQUEST for
 *   the current email address; TOO_MANY_REQUESTS after too many requests from this network or with this email
 *   address, or too many changes.
 */
export async function requestEmailChange(
  { sendsEmail, signInThrottle }: Pick<Services, "sendsEmail" | "signInThrottle">,
  edit: {
    readonly user: SessionUser;
    readonly sessionId: SessionId;
    readonly origin: Origin;
    readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
  },
  email: string,
): Promise<void> {
  const { user, sessionId, origin, transact } = edit;
  const userId = user.id;
  if (!sendsEmail) {
    const message = "This instance does not send email. Ask its operator to change your email address.";
    throw new AppError("CONFLICT", { message });
  }
  requireRecentAuthentication(origin);
  if (email === user.email) {
    const message = "This is your current email address.";
    throw new AppError("BAD_REQUEST", { issues: [{ path: "email", code: "invalid_value", message }] });
  }
  await signInThrottle.consumeLinkRequest("change-email", email, origin.address);
  await transact(async (trx) => {
    await lockAccount(trx, { userId, sessionId });
    await consumeAccountChangeQuota(trx, userId);
    const action = "account.email-change-requested";
    await appendSecurityEvent(trx, origin, { userId, action, after: { email } });
    const job = { key: `email-change ${userId}`, maxAttempts: 8 };
    await addJob(trx, "send-email-change", { userId, email }, job);
  });
}

/**
 * Creates the link to email, just before it is sent. Returns undefined if the email address can't become the user's.
 */
export async function prepareEmailChange(
  db: Db,
  { userId, email }: JobPayloads["send-email-change"],
  baseUrl: string,
): Promise<string | undefined> {
  const user = await findUser(db, userId);
  if (!user || user.isDisabled || (await findUserByEmail(db, email))) return undefined;
  const token = createLinkToken();
  await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    await deleteVerifications(trx, { purpose, subject: userId });
    await insertVerification(trx, nameOf(token), { subject: `${userId} ${email}`, lifetimeSeconds });
  });
  return `${baseUrl}/confirm-email#${token}`;
}

/** The new email address of a link for this user. @throws {AppError} NOT_FOUND */
async function findNewEmail(db: Db, userId: UserId, name: VerificationName): Promise<string> {
  const [subject, email] = (await findVerification(db, name))?.split(" ") ?? [];
  if (subject !== userId || email === undefined) throw expired();
  return email;
}

/**
 * Returns the new email address of a link.
 * @throws {AppError} NOT_FOUND for a link that is unknown, expired, used, or for another account.
 */
export async function previewEmailChange(
  db: Db,
  userId: UserId,
  token: string,
): Promise<{ readonly email: string }> {
  return { email: await findNewEmail(db, userId, nameOf(token)) };
}

/**
 * Changes the email address of the user who requested it. Password reset links, which were sent to the old email
 * address, become invalid. The old email address gets a notice. Sessions stay. Of the known devices and networks, only
 * those of the request stay known to the throttling of sign-ins. Requires a session of that user: otherwise, a person who opened a
 * link that somebody else requested would give that account their email address.
 * @throws {AppError} NOT_FOUND for a link that is unknown, expired, used, or for another account; CONFLICT if the email
 *   address has another account.
 */
export async function confirmEmailChange(
  trx: Trx,
  { signInThrottle }: Pick<Services, "signInThrottle">,
  edit: AccountEdit & Pick<Visitor, "deviceId">,
  token: string,
): Promise<{ readonly email: string }> {
  const { userId, origin, deviceId } = edit;
  await lockAccount(trx, edit);
  const email = await findNewEmail(trx, userId, nameOf(token));
  const user = await findUser(trx, userId);
  if (!user || user.isDisabled || !(await consumeVerification(trx, nameOf(token)))) throw expired();
  await changeEmail(trx, user, { email, isVerified: true }, origin);
  const addresses = { id: userId, formerEmail: user.email, email };
  await signInThrottle.keepKnown(trx, addresses, { address: origin.address, deviceId });
  return { email };
}

/**
 * Changes the email address of a user, who may be disabled, for the operator. The devices and networks of the
 * user are no longer known to the throttling of sign-ins. If the user already has the email address, nothing changes.
 * @param email the new email address, in lower case.
 * @throws {AppError} NOT_FOUND; CONFLICT if the email address has another account.
 */
export async function changeAccountEmail(
  db: Db,
  user: UserReference,
  email: string,
  origin: Origin,
): Promise<UserId> {
  const { id } = await getAccount(db, user);
  await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [id]);
    const former = await getAccount(trx, { id }); // The user may have been deleted since they were found.
    if (former.email === email) return; // Otherwise, a verified address would become unverified.
    await changeEmail(trx, former, { email, isVerified: false }, origin);
    await replaceOrigins(trx, id, []);
  });
  return id;
}

/** The user must be locked. */
async function changeEmail(
  trx: Trx,
  former: User,
  next: { readonly email: string; readonly isVerified: boolean },
  origin: Origin,
): Promise<void> {
  const userId = former.id;
  if (!(await changeUserEmail(trx, userId, next))) {
    throw new AppError("CONFLICT", { message: "This email address already has an account." });
  }
  for (const outdated of [
    purpose,
    "password-reset",
    "emailed-password-reset",
    "email-verification",
  ] as const) {
    await deleteVerifications(trx, { purpose: outdated, subject: userId });
  }
  const change = { before: { email: former.email }, after: { email: next.email } };
  await appendSecurityEvent(trx, origin, { userId, action: "account.email-changed", ...change });
  if (!(await willSendEmail(trx))) return;
  const job = { key: `email-changed ${userId} ${former.email}`, maxAttempts: 15 };
  await addJob(trx, "send-email-changed", { userId, email: former.email }, job);
}

function nameOf(token: string): VerificationName {
  return { purpose, digest: digestLinkToken(token) };
}

function expired(): AppError {
  const message =
    "This link has expired, was already used, or belongs to another account. Change your email address again to get a new one.";
  return new AppError("NOT_FOUND", { message });
}
