import { createCookieValue } from "@latchkey/auth/own-cookie";
import {
  type AuthenticationOptions,
  type AuthenticationResponse,
  createAuthenticationOptions,
} from "@latchkey/auth/passkeys";
import { lockUsers } from "@latchkey/db/members";
import { findPasskey, listPasskeyCredentials, recordPasskeyUse } from "@latchkey/db/passkeys";
import type { Trx } from "@latchkey/db/schema";
import { findUser } from "@latchkey/db/users";
import { createChallenge } from "./passkey-challenges.ts";
import { checkPasskey, rejectedPasskey, requireRelyingParty, type UsedPasskey } from "./passkeys.ts";
import { endPendingSignIn, findPendingSignIn } from "./pending-sign-in.ts";
import { reportRejectedSignIn } from "./report-rejected-sign-in.ts";
import type { Services } from "./services.ts";
import { completeSignIn, type DeviceSession } from "./sign-in.ts";
import {
  consumeChallengeAttempt,
  consumePasskeyAttempt,
  openSession,
  requireSignInAttempt,
  type Visitor,
} from "./sign-in-attempts.ts";

/**
 * Creates what a browser needs to sign in with a passkey.
 * @param second.isSecondFactor whether a sign-in waits for its second factor; only passkeys of its user are then offered.
 * @param second.pending the token of that sign-in, from the cookie.
 * @returns also the value of the cookie that binds the challenge to the browser.
 * @throws {AppError} TOO_MANY_REQUESTS; UNAUTHORIZED if the pending sign-in has expired.
 */
export async function startPasskeySignIn(
  services: Services,
  second: { readonly isSecondFactor: boolean; readonly pending: string | undefined },
  visitor: Visitor,
): Promise<{ readonly options: AuthenticationOptions; readonly token: string }> {
  const relyingParty = requireRelyingParty(services);
  await consumeChallengeAttempt(services, visitor);
  const { db } = services;
  const pending = second.isSecondFactor ? await findPendingSignIn(db, second.pending) : undefined;
  const allowed = pending ? await listPasskeyCredentials(db, pending.user.id) : [];
  const token = createCookieValue();
  const challenge = await db
    .transaction()
    .execute((trx) => createChallenge(trx, { use: "sign-in", binding: token }, null));
  return { options: await createAuthenticationOptions(relyingParty, { challenge, allowed }), token };
}

/**
 * Opens a session for the user of a passkey, without a password. The authenticator has verified the user, so the passkey
 * is two factors.
 * @param request.token from the cookie.
 * @param request.pending the token of a sign-in that waits for its second factor, which ends if it is that of the same user.
 * @throws {AppError} TOO_MANY_REQUESTS; UNAUTHORIZED if the passkey is unknown, the response isn't valid, or the user is
 *   disabled or was just deleted.
 */
export async function signInWithPasskey(
  services: Services,
  {
    token,
    pending,
    response,
  }: {
    readonly token: string | undefined;
    readonly pending: string | undefined;
    readonly response: AuthenticationResponse;
  },
  visitor: Visitor,
): Promise<DeviceSession> {
  const { db } = services;
  const relyingParty = requireRelyingParty(services);
  await consumePasskeyAttempt(services, visitor);
  const context = token === undefined ? undefined : ({ use: "sign-in", binding: token } as const);
  const access = {
    read: (work) => work(db),
    transact: (work) => db.transaction().execute(work),
  } satisfies Partial<Parameters<typeof checkPasskey>[1]>;
  const check = context && (await checkPasskey(relyingParty, { response, context, ...access }));
  if (check?.kind === "verified") await requireSignInAttempt(services, check.userId, visitor);
  if (check?.kind !== "verified" || !(await recordUse(services, check, pending))) {
    await reportRejectedSignIn(services, { reason: "passkey", userId: check?.userId }, visitor);
    throw rejectedPasskey("UNAUTHORIZED");
  }
  const { userId } = check;
  const isCurrent = async (trx: Trx) => (await findPasskey(trx, response.id))?.userId === userId;
  const session = await openSession(services, userId, { ...visitor, hasSecondFactor: true, isCurrent });
  return await completeSignIn(services, session, { visitor, kind: "signed-in", factor: "passkey" });
}

/** Returns false for a user who is disabled or was just deleted too. */
async function recordUse(
  { db }: Pick<Services, "db">,
  used: UsedPasskey,
  pending: string | undefined,
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [used.userId]);
    const user = await findUser(trx, used.userId);
    if (!user || user.isDisabled) return false;
    if (!(await recordPasskeyUse(trx, used.id, used.signCount))) return false;
    await endPendingSignIn(trx, used.userId, pending);
    return true;
  });
}
