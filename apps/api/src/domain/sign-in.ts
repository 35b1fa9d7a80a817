import { createDeviceId } from "@latchkey/auth/known-device";
import { hashPassword } from "@latchkey/auth/password";
import { queuePassword } from "@latchkey/auth/password-queue";
import type { OpenSession } from "@latchkey/auth/sessions";
import { wrongCredentials } from "@latchkey/auth/wrong-credentials";
import { rememberDevice } from "@latchkey/db/known-devices";
import { addNotices } from "@latchkey/db/notices";
import type { Db } from "@latchkey/db/schema";
import { findFactorKinds } from "@latchkey/db/second-factors";
import { appendFailedSignIn, appendSecurityEvent } from "@latchkey/db/security-events";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import { findUserByEmail, hasVerifiedEmail, insertUserWithPassword } from "@latchkey/db/users";
import { AppError, type ErrorCode } from "@latchkey/errors";
import { acceptInvitation, previewInvitation } from "./accept-invitation.ts";
import { createAccount, requireStrongPassword } from "./accounts.ts";
import { describeDevice } from "./devices.ts";
import { createPendingSignIn, type PendingSignIn } from "./pending-sign-in.ts";
import { hasAccounts, type Services } from "./services.ts";
import {
  consumeSignInAttempt,
  consumeSignUpAttempt,
  openSession,
  refundUnchecked,
  reportThrottled,
  requestOriginOf,
  type Visitor,
} from "./sign-in-attempts.ts";
import { signUpRejected } from "./sign-up-rejected.ts";
import { addSignUpVerificationJob } from "./verification-job.ts";

/** A session, and the ID for the device cookie. */
export type DeviceSession = OpenSession & { readonly deviceId: string };

interface Credentials {
  /** In lower case. */
  readonly email: string;
  readonly password: string;
}

/** The result of a correct password: a session, or the state of a sign-in that needs a second factor. */
export type SignInResult =
  | { readonly kind: "signed-in"; readonly session: DeviceSession }
  | {
      readonly kind: "second-factor-required";
      readonly pending: PendingSignIn;
      readonly factors: { readonly hasTotp: boolean; readonly hasPasskeys: boolean };
    };

/**
 * Opens a session if the password is correct and the user has no second factor.
 * @throws {AppError} UNAUTHORIZED, the same for a wrong password, an unknown email address and a disabled user;
 *   TOO_MANY_REQUESTS after too many failed attempts, or too many sign-ins; SERVICE_UNAVAILABLE if too many passwords are
 *   waiting to be checked.
 */
export async function signIn(
  services: Services,
  { email, password }: Credentials,
  visitor: Visitor,
): Promise<SignInResult> {
  const attempt = await consumeSignInAttempt(services, email, visitor);
  const { source } = attempt;
  const result = await reportThrottled(services, visitor, {
    kind: "sign-in-throttled",
    consume: () => services.sessions.signIn({ email, password }, { ...visitor, source }),
  }).catch(async (error: unknown) => {
    if (hasCode(error, "UNAUTHORIZED")) await reportFailure(services, email, visitor);
    // Beyond the quota of sign-ins, the password was checked.
    else if (!hasCode(error, "TOO_MANY_REQUESTS")) await refundUnchecked(attempt);
    throw error;
  });
  await attempt.refund();
  if (result.kind === "second-factor-required") {
    const { kind, userId } = result;
    const pending = await createPendingSignIn(services.db, result);
    return { kind, pending, factors: await findFactorKinds(services.db, userId) };
  }
  const session = await completeSignIn(services, result.session, { visitor, kind: "signed-in" });
  return { kind: "signed-in", session };
}

/**
 * Creates an account with a first workspace, and signs the user in. The first account, which becomes the operator, can be
 * created whatever the registration mode is.
 * @throws {AppError} FORBIDDEN unless registration is open or this is the first account; BAD_REQUEST for a password
 *   that is easy to guess; TOO_MANY_REQUESTS after too many sign-ups from this network; CONFLICT if the email address
 *   has an account; SERVICE_UNAVAILABLE if too many passwords are waiting to be hashed.
 */
export async function signUp(
  services: Services,
  { password, ...account }: Credentials & { readonly name: string },
  visitor: Visitor,
): Promise<DeviceSession> {
  const { db, configuration } = services;
  const { registration } = configuration;
  // Before a password is hashed.
  if (registration !== "open" && (await hasAccounts(services))) throw signUpRejected(registration);
  const passwordHash = await hashNewPassword(services, { ...account, password }, visitor);
  const origin = { kind: "session", ...requestOriginOf(visitor) } as const;
  const { userId } = await createAccount(db, { ...account, passwordHash }, origin, {
    registration,
    verificationServices: services,
  });
  const session = await openSession(services, userId, visitor);
  return await completeSignIn(services, session, { visitor, kind: "signed-up" });
}

/**
 * Creates an account for the email address of an invitation, accepts the invitation, and signs the user in.
 * @throws {AppError} FORBIDDEN if registration is closed; NOT_FOUND for an invalid link; as {@link signUp}.
 */
export async function signUpInvited(
  services: Services & {
    /** Runs the reads of the invitation, as one of the network's concurrent reads. */
    readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  },
  { token, name, password }: { readonly token: string; readonly name: string; readonly password: string },
  visitor: Visitor,
): Promise<DeviceSession> {
  const { db, read, quotas, configuration } = services;
  if (configuration.registration === "closed") throw signUpRejected("closed");
  const { email } = await read((reading) => previewInvitation(reading, token));
  const passwordHash = await hashNewPassword(services, { email, name, password }, visitor);
  const userId = await db.transaction().execute(async (trx) => {
    const id = await insertUserWithPassword(trx, { email, name, passwordHash });
    if (!id) throw new AppError("CONFLICT", { message: "This email address already has an account." });
    await acceptInvitation(trx, token, { userId: id, ...requestOriginOf(visitor) }, quotas);
    // An emailed link has just verified the email address.
    if (!(await hasVerifiedEmail(trx, id)))
      await addSignUpVerificationJob(trx, services, { userId: id, email });
    return id;
  });
  const session = await openSession(services, userId, visitor);
  return await completeSignIn(services, session, { visitor, kind: "signed-up" });
}

/** Hashes the password of a new account, within the limits of sign-ups. */
async function hashNewPassword(
  services: Services,
  { password, ...owner }: Credentials & { readonly name: string },
  visitor: Visitor,
): Promise<string> {
  await requireStrongPassword(password, owner);
  const attempt = await consumeSignUpAttempt(services, visitor);
  return await queuePassword(attempt.source, () => hashPassword(password)).catch(async (error: unknown) => {
    await refundUnchecked(attempt);
    throw error;
  });
}

/**
 * Records a sign-in, and remembers its device and network.
 * @throws {AppError} UNAUTHORIZED if the user was deleted since the session was opened.
 */
export async function completeSignIn(
  { db, signInThrottle, report }: Services,
  session: OpenSession,
  {
    visitor,
    kind,
    factor,
  }: {
    readonly visitor: Visitor;
    readonly kind: "signed-in" | "signed-up";
    /** What was used besides the password, or instead of it. */
    readonly factor?: "totp" | "recovery-code" | "passkey" | "openid";
  },
): Promise<DeviceSession> {
  const request = requestOriginOf(visitor);
  const { address, requestId, userAgent } = request;
  const userId = session.user.id;
  const origin = { actor: { kind: "session", userId, isRecentlyAuthenticated: true }, ...request } as const;
  const event = { userId, action: "sign-in.succeeded", after: factor && { factor } } as const;
  const record = db.transaction().execute(async (trx) => {
    const device = describeDevice(userAgent);
    if (await rememberDevice(trx, userId, device)) {
      const facts = { device, address };
      await addNotices(trx, [{ kind: "new-device", userId, subject: device, facts }]);
    }
    await appendSecurityEvent(trx, origin, event);
  });
  await record.catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? wrongCredentials(error) : error;
  });
  const deviceId = visitor.deviceId ?? createDeviceId();
  await signInThrottle.remember(session.user, { address, deviceId });
  report({ kind, userId, address, requestId });
  return { ...session, deviceId };
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof AppError && error.code === code;
}

/** Looks up the account for every failure, so that all failures take equally long. */
async function reportFailure({ db, report }: Services, email: string, visitor: Visitor): Promise<void> {
  const { address, requestId } = visitor;
  await appendFailedSignIn(db, email, requestOriginOf(visitor));
  const user = await findUserByEmail(db, email);
  const reason = user?.isDisabled ? "disabled" : user ? "wrong-password" : "unknown-account";
  report({ kind: "sign-in-failed", reason, userId: user?.id, address, requestId });
}
