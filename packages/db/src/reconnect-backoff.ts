import { setTimeout as delay } from "node:timers/promises";

export interface ReconnectBackoffOptions {
  /** The longest pause after the first failure, in milliseconds; each further failure doubles it. 100 by default. */
  readonly firstMs?: number;
  /** The longest pause, in milliseconds, and so how late the end of an outage can be noticed. 1,000 by default. */
  readonly maxMs?: number;
  /** Reads a monotonic clock, in milliseconds. */
  readonly now?: () => number;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random?: () => number;
}

/** How often a caller that waits for an attempt looks whether one is due, in milliseconds. */
const pollMs = 10;

/**
 * Limits how often a node tries to connect to an unavailable database. After each failed attempt there is a pause, which
 * doubles with every failure. Half of the pause is random, so that nodes that lost the database together don't reconnect
 * at the same time. During the pause, attempts fail immediately with the last failure, so that no requests pile up.
 */
export class ReconnectBackoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #failures = 0;
  #lastFailure: unknown;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #isRetrying = false;

  constructor(options: ReconnectBackoffOptions = {}) {
    this.#firstMs = options.firstMs ?? 100;
    this.#maxMs = options.maxMs ?? 1_000;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
  }

  /** Whether an attempt can be made: the last one succeeded, or the pause is over. */
  get isDue(): boolean {
    return this.#now() >= this.#retryAtMs;
  }

  /**
   * Calls `connect` if an attempt is due. Of the attempts that start after a failure, only one is in flight at a time.
   * @throws what `connect` throws, or the last failure if no attempt is due.
   */
  async attempt<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
    const isRetry = this.#failures > 0;
    if (isRetry && (this.#isRetrying || !this.isDue)) throw this.#lastFailure;
    if (isRetry) this.#isRetrying = true;
    try {
      const connection = await connect();
      this.succeed();
      return connection;
    } catch (error) {
      // Concurrent attempts that started before the first failure count as one failure.
      if (isRetry || this.#failures === 0) this.fail(error);
      throw error;
    } finally {
      // An attempt from before the first failure can end while a retry is in flight.
      if (isRetry) this.#isRetrying = false;
    }
  }

  /**
   * Calls `connect` as soon as an attempt is due. For callers that lose something when they don't get a
   * connection.
   * @param withinMs how long it waits for an attempt, in milliseconds.
   * @throws what `connect` throws, or the last failure if no attempt is due within this time.
   */
  async attemptWhenDue<Connection>(
    connect: () => Promise<Connection>,
    withinMs: number,
  ): Promise<Connection> {
    const deadline = this.#now() + withinMs;
    while (this.#failures > 0 && (this.#isRetrying || !this.isDue) && this.#now() < deadline)
      await delay(pollMs, undefined, { ref: false });
    return await this.attempt(connect);
  }

  /** Ends the pause: the database is available. */
  succeed(): void {
    this.#failures = 0;
    this.#lastFailure = undefined;
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Starts a pause: the database is unavailable. */
  fail(error: unknown): void {
    const longestMs = Math.min(this.#firstMs * 2 ** this.#failures, this.#maxMs);
    this.#failures += 1;
    this.#lastFailure = error;
    this.#retryAtMs = this.#now() + longestMs * (0.5 + this.#random() / 2);
  }
}
