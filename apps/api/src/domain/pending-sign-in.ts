import { createHash } from "node:crypto";
import { createCookieValue } from "@latchkey/auth/own-cookie";
import type { UserId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import { getUser, type User } from "@latchkey/db/users";
import { consumeVerification, findVerification, insertVerification } from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";

const purpose = "second-factor";

/** How long a sign-in can wait for its second factor, in seconds. */
export const pendingSignInSeconds = 600;

/** The state of a sign-in between the password and the second factor. */
export interface PendingSignIn {
  /** The value of the cookie that binds the sign-in to the browser. Only its digest is stored. */
  readonly token: string;
}

/** Records that someone entered the password of a user who has a second factor. */
export async function createPendingSignIn(db: Db, userId: UserId): Promise<PendingSignIn> {
  const token = createCookieValue();
  const options = { subject: userId, lifetimeSeconds: pendingSignInSeconds };
  await db.transaction().execute((trx) => insertVerification(trx, nameOf(token), options));
  return { token };
}

/** Finds the user of a pending sign-in. @throws {AppError} UNAUTHORIZED if it has expired or was completed. */
export async function findPendingUser(db: Db, token: string | undefined): Promise<User> {
  const subject = token === undefined ? undefined : await findVerification(db, nameOf(token));
  if (subject === undefined) throw expired();
  return await getUser(db, subject as UserId); // The value of this purpose is a user's ID.
}

/** Completes a pending sign-in, once. @throws {AppError} UNAUTHORIZED if it has expired or was completed. */
export async function completePendingSignIn(trx: Trx, token: string | undefined): Promise<void> {
  if (token === undefined || !(await consumeVerification(trx, nameOf(token)))) throw expired();
}

function nameOf(token: string) {
  return { purpose, digest: createHash("sha256").update(token).digest() } as const;
}

function expired(): AppError {
  const message = "Your sign-in has expired. Enter your email address and password again.";
  return new AppError("UNAUTHORIZED", { message });
}
