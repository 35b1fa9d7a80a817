import { AsyncLocalStorage } from "node:async_hooks";
import { AppError } from "@latchkey/errors";
import { APIError } from "better-auth/api";
import { type PasswordSource, queuePassword } from "./password-queue.ts";

interface BetterAuthCall {
  /** Who the password comes from, for a call that checks one. */
  readonly source: PasswordSource | undefined;
  /** The first error that better-auth logged during the call. It keeps to itself what the database said. */
  cause?: Error;
}

const currentCall = new AsyncLocalStorage<BetterAuthCall>();

/** For better-auth's logger: keeps an error that it would hide. */
export function keepCause(details: readonly unknown[]): void {
  const call = currentCall.getStore();
  const cause = details.find((detail) => detail instanceof Error);
  if (call && cause) call.cause ??= cause;
}

/** For better-auth's password functions: waits for the turn of whoever the call's password comes from. */
export async function inPasswordQueue<Result>(task: () => Promise<Result>): Promise<Result> {
  const source = currentCall.getStore()?.source;
  if (!source) throw new Error("A password is checked in a call that names no source.");
  return await queuePassword(source, task);
}

/**
 * Calls better-auth, and translates its errors.
 * @throws {AppError} UNAUTHORIZED for its own; whatever else is thrown, and what it has only logged.
 */
export async function callBetterAuth<Result>(
  call: () => Promise<Result>,
  source?: PasswordSource,
): Promise<Result> {
  const context: BetterAuthCall = { source };
  try {
    const result = await currentCall.run(context, call);
    // It may log a failure and answer as if there had been none: a sign-out whose session lives on.
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
