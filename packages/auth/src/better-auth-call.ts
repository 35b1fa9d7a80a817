import { AsyncLocalStorage } from "node:async_hooks";
import { AppError } from "@latchkey/errors";
import { APIError } from "better-auth/api";
import { type PasswordSource, queuePassword } from "./password-queue.ts";

/** What better-auth doesn't know about the request of a call. */
export interface CallOrigin {
  /** The client's IP address; null if it is unknown. */
  readonly address: string | null;
  /** The source of the password, for a call that checks one. */
  readonly source?: PasswordSource;
}

interface BetterAuthCall {
  readonly origin: CallOrigin;
  /**
   * The first error that better-auth logged during the call. What better-auth throws does not include the database's
   * error.
   */
  cause?: Error;
}

const currentCall = new AsyncLocalStorage<BetterAuthCall>();

/** Keeps an error that better-auth only logs. For better-auth's logger. */
export function recordCause(details: readonly unknown[]): void {
  const call = currentCall.getStore();
  const cause = details.find((detail) => detail instanceof Error);
  if (call && cause) call.cause ??= cause;
}

/** The IP address of the client of the current call. For better-auth's hooks. */
export function findCallAddress(): string | null {
  return currentCall.getStore()?.origin.address ?? null;
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
    if (!(error instanceof APIError)) throw error;
    if (error.status === "UNAUTHORIZED") {
      const message = "The email address or password is wrong.";
      throw new AppError("UNAUTHORIZED", { message, cause: error });
    }
    throw context.cause ?? error;
  }
}
