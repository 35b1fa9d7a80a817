import type { CredentialCheck } from "@latchkey/auth/better-auth-call";
import type { Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { checkCode } from "./factor-codes.ts";
import { completePendingSignIn, findPendingSignIn } from "./pending-sign-in.ts";
import type { Services } from "./services.ts";
import { completeSignIn, type DeviceSession } from "./sign-in.ts";
import { openSession, requireSignInAttempt, type Visitor } from "./sign-in-attempts.ts";

/**
 * Completes a pending sign-in with a code of the second factor, once. A wrong code leaves the sign-in pending. A code alone
 * doesn't make an earlier authentication at an identity provider recent.
 * @param token from the cookie.
 * @throws {AppError} UNAUTHORIZED if the sign-in has expired or was completed, or the user was disabled; TOO_MANY_REQUESTS after
 *   too many sign-ins, before the code is used; as {@link checkCode}.
 */
export async function signInWithCode(
  services: Services,
  { token, code }: { readonly token: string | undefined; readonly code: string },
  visitor: Visitor,
): Promise<DeviceSession> {
  const { db } = services;
  const { user, authenticatedAt } = await findPendingSignIn(db, token);
  await requireSignInAttempt(services, user.id, visitor);
  const check = {
    user,
    code,
    transact: (work) => db.transaction().execute(work),
  } satisfies Parameters<typeof checkCode>[1];
  let isProved: CredentialCheck | undefined;
  const factor = await checkCode(services, check, visitor, async (trx) => {
    isProved = await completePendingSignIn(trx, user.id, token);
  });
  const isCurrent = async (trx: Trx) =>
    (await isProved?.(trx)) === true && (await hasSecondFactor(trx, user.id));
  const options = { hasSecondFactor: true, authenticatedAt, isCurrent };
  const session = await openSession(services, user.id, { ...visitor, ...options });
  return await completeSignIn(services, session, { visitor, kind: "signed-in", factor });
}
