import type { OpenSession, Sessions } from "@latchkey/auth/sessions";
import { requireSignInQuota } from "@latchkey/auth/sign-in-quota";
import type { Attempt } from "@latchkey/auth/sign-in-throttle";
import { shortenUserAgent } from "@latchkey/auth/user-agent";
import type { RequestOrigin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Services } from "./services.ts";
import type { SignInEvent } from "./sign-in-event.ts";

/** The caller who signs in or signs up. */
export interface Visitor {
  /** The client's IP address; null if it is unknown. */
  readonly address: string | null;
  readonly requestId: string;
  /** From the device cookie. */
  readonly deviceId: string | undefined;
  /** The request's headers, with the session cookie. */
  readonly headers: Headers;
}

/** The request of a visitor, for the logs. */
export function requestOriginOf({
  address,
  requestId,
  headers,
}: Pick<Visitor, "address" | "requestId" | "headers">): Required<RequestOrigin> & {
  readonly requestId: string;
} {
  return { address, requestId, userAgent: shortenUserAgent(headers.get("user-agent")) };
}

type ThrottledServices = Pick<Services, "report" | "signInThrottle">;

/**
 * Consumes one attempt to enter the password of an account.
 * @param email in lower case.
 * @throws {AppError} TOO_MANY_REQUESTS after too many failed attempts.
 */
export async function consumeSignInAttempt(
  services: ThrottledServices,
  email: string,
  visitor: Visitor,
): Promise<Attempt> {
  return await reportThrottled(services, visitor, {
    kind: "sign-in-throttled",
    consume: () => services.signInThrottle.consumeSignIn(email, visitor),
  });
}

/** Consumes one attempt to enter a code of a second factor, as {@link consumeSignInAttempt}. */
export async function consumeCodeAttempt(
  services: ThrottledServices,
  email: string,
  visitor: Visitor,
): Promise<Attempt> {
  return await reportThrottled(services, visitor, {
    kind: "code-throttled",
    consume: () => services.signInThrottle.consumeCode(email, visitor),
  });
}

/** Consumes one challenge for a passkey. @throws {AppError} TOO_MANY_REQUESTS after too many from this network. */
export async function consumeChallengeAttempt(services: ThrottledServices, visitor: Visitor): Promise<void> {
  await reportThrottled(services, visitor, {
    kind: "sign-in-throttled",
    consume: () => services.signInThrottle.consumeChallenge(visitor.address),
  });
}

/** Consumes one attempt to sign in with a passkey, as {@link consumeChallengeAttempt}. */
export async function consumePasskeyAttempt(services: ThrottledServices, visitor: Visitor): Promise<void> {
  await reportThrottled(services, visitor, {
    kind: "sign-in-throttled",
    consume: () => services.signInThrottle.consumePasskey(visitor.address),
  });
}

/** Consumes one attempt to sign up. @throws {AppError} TOO_MANY_REQUESTS after too many sign-ups from this network. */
export async function consumeSignUpAttempt(services: ThrottledServices, visitor: Visitor): Promise<Attempt> {
  return await reportThrottled(services, visitor, {
    kind: "sign-up-throttled",
    consume: () => services.signInThrottle.consumeSignUp(visitor),
  });
}

/**
 * Checks the quota of sign-ins of a user who has proved one of their credentials, before a code is used up, or the
 * use of a passkey is recorded and ends the pending sign-in.
 * @throws {AppError} TOO_MANY_REQUESTS beyond the quota.
 */
export async function requireSignInAttempt(
  services: Pick<Services, "db" | "report">,
  userId: UserId,
  visitor: Visitor,
): Promise<void> {
  await reportThrottled(services, visitor, {
    kind: "sign-in-throttled",
    consume: () => requireSignInQuota(services.db, userId),
  });
}

/** Opens a session, as {@link Sessions.open}, which consumes one sign-in of the user. */
export async function openSession(
  services: Pick<Services, "report" | "sessions">,
  userId: UserId,
  request: Visitor & Parameters<Sessions["open"]>[1],
): Promise<OpenSession> {
  return await reportThrottled(services, request, {
    kind: "sign-in-throttled",
    consume: () => services.sessions.open(userId, request),
  });
}

/** Reports an attempt that is rejected because there were too many. */
export async function reportThrottled<Result>(
  { report }: Pick<Services, "report">,
  { address, requestId }: Pick<Visitor, "address" | "requestId">,
  {
    kind,
    consume,
  }: {
    readonly kind: Extract<SignInEvent, { readonly retryAfterSeconds: number }>["kind"];
    readonly consume: () => Promise<Result>;
  },
): Promise<Result> {
  try {
    return await consume();
  } catch (error) {
    if (
      error instanceof AppError &&
      error.retryAfterSeconds !== undefined &&
      error.code === "TOO_MANY_REQUESTS"
    )
      report({ kind, address, requestId, retryAfterSeconds: error.retryAfterSeconds });
    throw error;
  }
}

/**
 * Refunds an attempt for which nothing was checked. If the refund fails, the attempt stays counted, and the caller gets
 * the original error.
 */
export async function refundUnchecked(attempt: Attempt): Promise<void> {
  await attempt.refund().catch(() => undefined);
}
