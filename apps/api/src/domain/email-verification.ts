import type { SessionUser } from "@latchkey/auth/sessions";
import type { Origin } from "@latchkey/db/audit-actions";
import type { SessionId, UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { findUser, hasVerifiedEmail, markEmailVerified } from "@latchkey/db/users";
import {
  consumeVerification,
  deleteVerifications,
  findVerification,
  insertVerification,
} from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount } from "./account.ts";
import { createLinkToken, digestLinkToken } from "./link-token.ts";
import type { Services } from "./services.ts";
import { addVerificationJob } from "./verification-job.ts";

const purpose = "email-verification";

/** How long the link is valid, in seconds. */
const lifetimeSeconds = 86_400;

/**
 * Emails a verification link to the user again. Does nothing if the email address is verified.
 * @throws {AppError} CONFLICT if the instance sends no email; TOO_MANY_REQUESTS after too many requests from this network
 *   or with this email address.
 */
export async function requestEmailVerification(
  { sendsEmail, signInThrottle }: Pick<Services, "sendsEmail" | "signInThrottle">,
  {
    user,
    sessionId,
    origin,
    transact,
  }: {
    readonly user: SessionUser;
    readonly sessionId: SessionId;
    readonly origin: Origin;
    readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
  },
): Promise<void> {
  if (!sendsEmail) {
    throw new AppError("CONFLICT", { message: "This instance does not send email." });
  }
  await signInThrottle.consumeLinkRequest("verify-email", user.email, origin.address);
  await transact(async (trx) => {
    await lockAccount(trx, { userId: user.id, sessionId });
    if (!(await hasVerifiedEmail(trx, user.id))) await addVerificationJob(trx, user.id);
  });
}

/**
 * Creates the link to email, just before it is sent, so that it is stored nowhere. Earlier links become invalid. Returns
 * undefined if there is nothing to verify.
 */
export async function prepareVerificationEmail(
  db: Db,
  userId: UserId,
  baseUrl: string,
): Promise<{ readonly email: string; readonly url: string } | undefined> {
  return await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    const user = await findUser(trx, userId);
    if (!user || user.isDisabled || (await hasVerifiedEmail(trx, userId))) return undefined;
    const token = createLinkToken();
    await deleteVerifications(trx, { purpose, subject: userId });
    const name = { purpose, digest: digestLinkToken(token) } as const;
    await insertVerification(trx, name, { subject: `${userId} ${user.email}`, lifetimeSeconds });
    return { email: user.email, url: `${baseUrl}/verify-email#${token}` };
  });
}

/**
 * Marks the email address of the user as verified. The link alone isn't enough: somebody else can have registered the
 * account with this email address, and the person who reads the email would verify it for them.
 * @throws {AppError} NOT_FOUND for a link that is unknown, expired, used, or for another account or email address.
 */
export async function verifyEmail(
  trx: Trx,
  edit: AccountEdit,
  token: string,
): Promise<{ readonly email: string }> {
  const { userId, origin } = edit;
  const name = { purpose, digest: digestLinkToken(token) } as const;
  await lockAccount(trx, edit);
  const user = await findUser(trx, userId);
  const subject = await findVerification(trx, name);
  if (!user || subject !== `${userId} ${user.email}` || !(await consumeVerification(trx, name))) {
    const message =
      "This link has expired, was already used, or belongs to another account. Send another one from your profile.";
    throw new AppError("NOT_FOUND", { message });
  }
  await markVerified(trx, userId, origin);
  return { email: user.email };
}

/** Records that the user can read email sent to their email address. The user must be locked. */
export async function markVerified(trx: Trx, userId: UserId, origin: Origin): Promise<void> {
  await deleteVerifications(trx, { purpose, subject: userId });
  if (await markEmailVerified(trx, userId))
    await appendSecurityEvent(trx, origin, { userId, action: "account.email-verified" });
}
