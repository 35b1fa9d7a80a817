import { AsyncLocalStorage } from "node:async_hooks";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import { findPasswordHash } from "@latchkey/db/users";
import { APIError } from "better-auth/api";
import { type PasswordSource, queuePassword } from "./password-queue.ts";
import { wrongCredentials } from "./wrong-credentials.ts";

/** The facts about the request of a call that better-auth doesn't get. */
export interface CallOrigin {
  /** The client's IP address; null if it is unknown. */
  readonly address: string | null;
  /** The source of the password, for a call that checks one. */
  readonly source?: PasswordSource;
  /** Whether the user proved a second factor; false by default. */
  readonly hasSecondFactor?: boolean;
  /** When an identity provider authenticated the user; undefined if this instance does so now. */
  readonly authenticatedAt?: Date | undefined;
  /** Whether the credential that opens a session still exists; see {@link isCredentialCurrent}. */
  readonly isCurrent?: CredentialCheck;
}

/** Whether the credential with which a user signs in still exists. The user must be locked. */
export type CredentialCheck = (trx: Trx) => Promise<boolean>;

/** The password is correct, and the sign-in needs a second factor. No session was opened. */
export class SecondFactorRequiredError extends Error {
  override readonly name = "SecondFactorRequiredError";
  readonly userId: UserId;
  /** Whether the password, or what was checked instead of it, can still sign the user in. */
  readonly isCurrent: CredentialCheck;

  constructor(userId: UserId, isCurrent: CredentialCheck) {
    super("The sign-in needs a second factor.");
    this.userId = userId;
    this.isCurrent = isCurrent;
  }
}

interface BetterAuthCall {
  readonly origin: CallOrigin;
  /**
   * The first error that better-auth logged during the call. What better-auth throws does not include the database's
   * error.
   */
  cause?: Error;
  /** The user whose sign-in was rejected because it needs a second factor. */
  userWithoutFactor?: UserId;
  /** The hash with which a password was verified. */
  verifiedHash?: string;
}

const currentCall = new AsyncLocalStorage<BetterAuthCall>();

/** Keeps an error that better-auth only logs. For better-auth's logger. */
export function rememberLoggedError(details: readonly unknown[]): void {
  const call = currentCall.getStore();
  const cause = details.find((detail) => detail instanceof Error);
  if (call && cause) call.cause ??= cause;
}

/** The IP address of the client of the current call. For better-auth's hooks. */
export function findCallAddress(): string | null {
  return currentCall.getStore()?.origin.address ?? null;
}

/** Whether the current call proved a second factor. For better-auth's hooks. */
export function hasCallSecondFactor(): boolean {
  return currentCall.getStore()?.origin.hasSecondFactor ?? false;
}

/** When an identity provider authenticated the user of the current call, if one did. For better-auth's hooks. */
export function findCallAuthentication(): Date | undefined {
  return currentCall.getStore()?.origin.authenticatedAt;
}

/** Keeps the hash with which a password was verified. For better-auth's password functions. */
export function rememberVerifiedHash(hash: string): void {
  const call = currentCall.getStore();
  if (call) call.verifiedHash = hash;
}

/**
 * Whether the password or other credential with which the current call opens a session still exists. Replacing a
 * password or removing a credential ends all sessions that exist. This check also rejects a session that is opened
 * concurrently, after the old credential was verified. For better-auth's hooks.
 */
export async function isCredentialCurrent(trx: Trx, userId: UserId): Promise<boolean> {
  const call = currentCall.getStore();
  return call === undefined || (await isCurrentIn(call, trx, userId));
}

async function isCurrentIn(
  { verifiedHash, origin }: BetterAuthCall,
  trx: Trx,
  userId: UserId,
): Promise<boolean> {
  if (verifiedHash !== undefined && (await findPasswordHash(trx, userId)) !== verifiedHash) return false;
  return (await origin.isCurrent?.(trx)) ?? true;
}

/** Rejects the current call, because it needs a second factor. For better-auth's hooks. */
export function rejectWithoutFactor(userId: UserId): never {
  const call = currentCall.getStore();
  if (call) call.userWithoutFactor = userId;
  throw new APIError("UNAUTHORIZED");
}

/** Runs a task in the queue of the source that the call's password comes from. For better-auth's password functions. */
export async function inPasswordQueue<Result>(task: () => Promise<Result>): Promise<Result> {
  const source = currentCall.getStore()?.origin.source;
  if (!source) throw new Error("The call checks a password but has no password source.");
  return await queuePassword(source, task);
}

/**
 * Calls better-auth, and translates its errors.
 * @throws {AppError} UNAUTHORIZED if better-auth rejects the credentials.
 * @throws {SecondFactorRequiredError}
 * @throws any other error that better-auth throws or only logs.
 */
export async function callBetterAuth<Result>(
  call: () => Promise<Result>,
  origin: CallOrigin = { address: null },
): Promise<Result> {
  const context: BetterAuthCall = { origin };
  try {
    const result = await currentCall.run(context, call);
    // better-auth may log a failure and still return normally, for example from a sign-out that did not delete the
    // session.
    if (context.cause) throw context.cause;
    return result;
  } catch (error) {
    const { userWithoutFactor: userId } = context;
    if (userId !== undefined)
      throw new SecondFactorRequiredError(userId, (trx) => isCurrentIn(context, trx, userId));
    // The user was deleted after the password was checked, so the session refers to a missing row.
    if (isForeignKeyViolation(error)) throw wrongCredentials(error);
    if (!(error instanceof APIError)) throw error;
    if (error.status === "UNAUTHORIZED") throw wrongCredentials(error);
    throw context.cause ?? error;
  }
}
