import { createHash } from "node:crypto";
import { createCookieValue } from "@latchkey/auth/own-cookie";
import type { SessionId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { consumeVerification, findVerification, insertVerification } from "@latchkey/db/verifications";
import { AppError } from "@latchkey/errors";
import {
  clockToleranceSeconds,
  type OpenidClaims,
  OpenidError,
  type OpenidResponse,
  requireOpenid,
} from "./openid-provider.ts";
import type { Services } from "./services.ts";
import { consumeChallengeAttempt, type Visitor } from "./sign-in-attempts.ts";

/** How long a person can take to sign in at the provider, in seconds. */
export const openidAttemptSeconds = 600;

/** What an attempt is for. Its result is accepted for nothing else, and in no other session. */
export type OpenidUse =
  | { readonly kind: "sign-in" }
  | { readonly kind: "link" | "confirmation"; readonly sessionId: SessionId };

type Access = Pick<Services, "openid" | "report" | "signInThrottle"> & {
  readonly transact: <Result>(
    work: (trx: Parameters<typeof insertVerification>[0]) => Promise<Result>,
  ) => Promise<Result>;
};

/**
 * Starts an attempt to sign in at the provider.
 * @returns the URL of the provider's page, and the value of the cookie that binds the attempt to the browser.
 * @throws {AppError} NOT_FOUND without a provider; CONFLICT if it can't be reached; TOO_MANY_REQUESTS.
 */
export async function startOpenid(
  access: Access,
  use: OpenidUse,
  visitor: Visitor,
): Promise<{ readonly url: string; readonly token: string }> {
  const provider = requireOpenid(access);
  await consumeChallengeAttempt(access, visitor);
  const token = createCookieValue();
  const forcesReauthentication = use.kind === "confirmation";
  const url = await provider.createUrl(token, { forcesReauthentication }).catch((error: unknown) => {
    reportProblem(access, error, visitor);
    const message = `${provider.name} can’t be reached at the moment. Try again later, or sign in another way.`;
    throw new AppError("CONFLICT", { message, cause: error });
  });
  const options = { subject: String(nowSeconds()), lifetimeSeconds: openidAttemptSeconds };
  await access.transact((trx) => insertVerification(trx, nameOf(use, token), options));
  return { url, token };
}

/**
 * Completes an attempt, once.
 * @param token from the cookie.
 * @throws {AppError} UNAUTHORIZED if the attempt has expired, was completed or comes from another browser or session, or
 *   the response isn't valid.
 */
export async function completeOpenid(
  access: Access & { readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result> },
  use: OpenidUse,
  { token, response }: { readonly token: string | undefined; readonly response: OpenidResponse },
  visitor: Visitor,
): Promise<OpenidClaims> {
  const provider = requireOpenid(access);
  const name = token === undefined ? undefined : nameOf(use, token);
  const startedAt = name && (await access.read((db) => findVerification(db, name)));
  if (token === undefined || name === undefined || startedAt === undefined) throw expired();
  if (!(await access.transact((trx) => consumeVerification(trx, name)))) throw expired();
  const forcesReauthentication = use.kind === "confirmation";
  try {
    const claims = await provider.readClaims(token, response, { forcesReauthentication });
    const earliestMs = (Number(startedAt) - clockToleranceSeconds) * 1_000;
    if (forcesReauthentication && (claims.authenticatedAt?.getTime() ?? 0) < earliestMs)
      throw new OpenidError("The provider did not authenticate the person again.");
    return claims;
  } catch (error) {
    reportProblem(access, error, visitor);
    const message = `The sign-in with ${provider.name} failed. Try again.`;
    throw new AppError("UNAUTHORIZED", { message, cause: error });
  }
}

/**
 * By the clock of the node. Only the nodes that start and complete an attempt compare it, and tolerate a difference.
 */
function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

function nameOf(use: OpenidUse, token: string) {
  const binding = use.kind === "sign-in" ? null : use.sessionId;
  const digest = createHash("sha256")
    .update(JSON.stringify([use.kind, binding, token]))
    .digest();
  return { purpose: "openid", digest } as const;
}

function expired(): AppError {
  const message =
    "This sign-in has expired, was already completed, or was started in another browser. Start again.";
  return new AppError("UNAUTHORIZED", { message });
}

/** Rethrows every other error. */
function reportProblem(
  { report }: Pick<Services, "report">,
  error: unknown,
  { address, requestId }: Visitor,
): void {
  if (!(error instanceof OpenidError)) throw error;
  report({ kind: "openid-failed", problem: error.message, address, requestId });
}
