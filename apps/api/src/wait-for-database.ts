import { setTimeout as delay } from "node:timers/promises";
import { isDatabaseStarting } from "@latchkey/db/database-failure";

export interface WaitOptions {
  /** How long to try, in milliseconds; 0 tries once. */
  readonly waitMs: number;
  /** Called when the first attempt fails, and whenever the reason changes. */
  readonly onWait?: (error: unknown) => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Reads a monotonic clock, in milliseconds. */
  readonly now?: () => number;
  readonly pause?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 1_000;

/**
 * Connects to a database that may not be available yet, for example while the machine starts.
 * @param connect tries once.
 * @throws the last attempt's error when the time is up, and immediately an error that waiting can't fix, such as a
 *   wrong password or a missing database.
 */
export async function waitForDatabase<Result>(
  connect: () => Promise<Result>,
  options: WaitOptions,
): Promise<Result> {
  const {
    waitMs,
    onWait = () => undefined,
    signal,
    now = () => performance.now(),
    pause = pauseFor,
  } = options;
  const until = now() + waitMs;
  let reason: string | undefined;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await connect();
    } catch (error) {
      if (!isDatabaseStarting(error) || now() + pauseMs > until) throw error;
      if (String(error) !== reason) onWait(error);
      reason = String(error);
    }
    await pause(pauseMs, signal);
  }
}

async function pauseFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(milliseconds, undefined, { signal });
}
