import { createHash } from "node:crypto";
import type { CredentialCheck } from "@latchkey/auth/better-auth-call";
import { createCookieValue } from "@latchkey/auth/own-cookie";
import { wrongCredentials } from "@latchkey/auth/wrong-credentials";
import type { UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { findUser, type User } from "@latchkey/db/users";
import {
  consumeVerification,
  deleteVerifications,
  findVerification,
  insertVerification,
} from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";

const purpose = "second-factor";

/** How long a sign-in can wait for its second factor, in seconds. */
export const pendingSignInSeconds = 600;

/** The state of a sign-in between the password and the second factor. */
export interface PendingSignIn {
  /** The value of the cookie that binds the sign-in to the browser. Only its digest is stored. */
  readonly token: string;
}

/** What was checked before the second factor. */
interface FirstFactor {
  readonly userId: UserId;
  /** Whether the password, or what was checked instead of it, can still sign the user in. The user must be locked. */
  readonly isCurrent: CredentialCheck;
  /** Creates the error if it can't; that of a wrong password by default. */
  readonly rejection?: () => AppError;
  /** When an identity provider authenticated the user; undefined if the session counts from the second factor on. */
  readonly authenticatedAt?: Date | undefined;
}

/**
 * Records that someone entered the password of a user who has a second factor. The lock waits for a transaction that
 * replaces the password, which ends the pending sign-ins that it sees.
 * @throws {AppError} UNAUTHORIZED if it can't, or the user was disabled or deleted since.
 */
export async function createPendingSignIn(
  db: Db,
  { userId, isCurrent, rejection = wrongCredentials, authenticatedAt }: FirstFactor,
): Promise<PendingSignIn> {
  const token = await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    const user = await findUser(trx, userId);
    if (!user || user.isDisabled || !(await isCurrent(trx))) throw rejection();
    // `deleteVerifications` finds it by the ID of the user.
    return await insertPending(trx, authenticatedAt ? `${userId} ${authenticatedAt.toISOString()}` : userId);
  });
  return { token };
}

/** Returns the token of a new pending sign-in. */
async function insertPending(trx: Trx, subject: string): Promise<string> {
  const token = createCookieValue();
  await insertVerification(trx, nameOf(token), { subject, lifetimeSeconds: pendingSignInSeconds });
  return token;
}

/** Finds a pending sign-in. @throws {AppError} UNAUTHORIZED if it has expired or was completed, or the user was deleted. */
export async function findPendingSignIn(
  db: Db,
  token: string | undefined,
): Promise<{ readonly user: User } & Pick<FirstFactor, "authenticatedAt">> {
  const subject = token === undefined ? undefined : await findVerification(db, nameOf(token));
  if (subject === undefined) throw expired();
  const [userId, time] = subject.split(" ");
  const user = await findUser(db, userId as UserId); // The value of this purpose starts with a user's ID.
  if (!user) throw expired(); // The user was just deleted.
  return { user, authenticatedAt: time === undefined ? undefined : new Date(time) };
}

/**
 * Completes a pending sign-in, once, in the transaction that uses up the second factor. The user must be locked. The session
 * is opened only after this transaction, so a change of the password between the two must still prevent it: the completed
 * sign-in is replaced by another one, whose token only the caller knows and which such a change deletes.
 * @returns whether the session may be opened, to be called once, with the user locked.
 * @throws {AppError} UNAUTHORIZED if it has expired or was completed.
 */
export async function completePendingSignIn(
  trx: Trx,
  userId: UserId,
  token: string | undefined,
): Promise<CredentialCheck> {
  if (token === undefined || !(await consumeVerification(trx, nameOf(token)))) throw expired();
  const proved = nameOf(await insertPending(trx, userId));
  return (laterTrx) => consumeVerification(laterTrx, proved);
}

/**
 * Ends the pending sign-in of a locked user that a passkey has completed. That of another user, whose browser may be shared, stays
 * pending.
 */
export async function endPendingSignIn(trx: Trx, userId: UserId, token: string | undefined): Promise<void> {
  const name = token === undefined ? undefined : nameOf(token);
  const subject = name && (await findVerification(trx, name));
  if (name && subject?.split(" ")[0] === userId) await consumeVerification(trx, name);
}

/**
 * Ends the pending sign-ins of a locked user. Call it wherever sessions end because the user, or someone for them, must
 * sign in again.
 */
export async function endPendingSignIns(trx: Trx, userId: UserId): Promise<void> {
  await deleteVerifications(trx, { purpose, subject: userId });
}

function nameOf(token: string) {
  return { purpose, digest: createHash("sha256").update(token).digest() } as const;
}

function expired(): AppError {
  const message = "Your sign-in has expired. Enter your email address and password again.";
  return new AppError("UNAUTHORIZED", { message });
}
