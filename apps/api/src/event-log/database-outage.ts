import type { Logger } from "pino";
import { kindOfError } from "./error-kind.ts";

export interface DatabaseOutageOptions {
  readonly log: Logger;
  /** Queries the database. */
  readonly isDatabaseAvailable: () => Promise<boolean>;
  /** Reads a monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** How long the database must have been available before an outage counts as ended, in milliseconds. */
  readonly settleMs: number;
}

/** Time between two lines while an outage lasts, in milliseconds. */
const progressEveryMs = 60_000;
/** An outage that begins within this time after another one must settle for twice as long, in milliseconds. */
const recurrenceMs = 60_000;
const maxSettleMs = 60_000;
/** The source of a failure that no request and no task of the node noticed. */
export const healthCheck = "health check";

interface Outage {
  readonly beganAtMs: number;
  readonly settleMs: number;
  /** Failures that any part of the node had with the database, except health checks. */
  errors: number;
  /** The same, with health checks. */
  failures: number;
  /** Requests that got 503. */
  rejectedRequests: number;
  lastError: unknown;
  progressAtMs: number;
  /** When the database was found available after the last failure; undefined while it isn't. */
  recoveredAtMs: number | undefined;
}

/**
 * Logs a database outage as one event, whichever parts of the node notice it: a line when it begins, a line per minute
 * with the counts so far, and a line when it ends. It ends when the database answers a query and no failure follows. A
 * connection that breaks repeatedly produces few lines, because recurring outages take longer to settle.
 */
export class DatabaseOutage {
  readonly #options: DatabaseOutageOptions;
  #current: Outage | undefined;
  #lastEndMs = Number.NEGATIVE_INFINITY;
  #lastSettleMs = 0;
  #isProbing = false;

  constructor(options: DatabaseOutageOptions) {
    this.#options = options;
  }

  get isOngoing(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Counts a failure, and begins an outage if there is none. Health checks aren't counted, because the node itself makes two per second
   * during an outage.
   * @param source the part of the node that noticed it.
   */
  fail(error: unknown, source: string): void {
    this.#current ??= this.#begin(error, source);
    this.#current.failures += 1;
    if (source !== healthCheck) this.#current.errors += 1;
    this.#current.lastError = error;
    this.#current.recoveredAtMs = undefined;
  }

  /** Counts requests that got 503 in the ongoing outage. */
  countRejected(count: number): void {
    if (this.#current) this.#current.rejectedRequests += count;
  }

  /** Checks whether the outage has ended, and writes the lines that are due. */
  tick(): void {
    const outage = this.#current;
    if (!outage) return;
    const nowMs = this.#options.now();
    const { recoveredAtMs } = outage;
    if (recoveredAtMs === undefined) void this.#probe(outage);
    if (recoveredAtMs !== undefined && nowMs - recoveredAtMs >= outage.settleMs)
      this.#end(outage, recoveredAtMs);
    else if (nowMs >= outage.progressAtMs) this.#writeProgress(outage);
  }

  /** Writes the counts of an ongoing outage. */
  flush(): void {
    const outage = this.#current;
    if (outage?.recoveredAtMs !== undefined) this.#end(outage, outage.recoveredAtMs);
    else if (outage) this.#writeProgress(outage);
  }

  #begin(err: unknown, source: string): Outage {
    const nowMs = this.#options.now();
    const isRecurrence = nowMs - this.#lastEndMs < recurrenceMs;
    this.#options.log.error({ source, err }, "the database is unavailable");
    return {
      beganAtMs: nowMs,
      settleMs: isRecurrence ? Math.min(this.#lastSettleMs * 2, maxSettleMs) : this.#options.settleMs,
      errors: 0,
      failures: 0,
      rejectedRequests: 0,
      lastError: err,
      progressAtMs: nowMs + progressEveryMs,
      recoveredAtMs: undefined,
    };
  }

  async #probe(outage: Outage): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const { failures } = outage;
    try {
      const isAvailable = await this.#options.isDatabaseAvailable();
      // A failure since then may be newer than the answer.
      if (isAvailable && outage.failures === failures) outage.recoveredAtMs = this.#options.now();
    } catch (error) {
      this.fail(error, healthCheck);
    } finally {
      this.#isProbing = false;
    }
  }

  #writeProgress(outage: Outage): void {
    const { beganAtMs, errors, rejectedRequests, lastError } = outage;
    const nowMs = this.#options.now();
    outage.progressAtMs = nowMs + progressEveryMs;
    const { error, code } = kindOfError(lastError);
    const durationMs = Math.round(nowMs - beganAtMs);
    this.#options.log.warn(
      { durationMs, errors, rejectedRequests, lastError: code ?? error },
      "the database is still unavailable",
    );
  }

  #end({ beganAtMs, settleMs, errors, rejectedRequests }: Outage, recoveredAtMs: number): void {
    this.#current = undefined;
    this.#lastEndMs = this.#options.now();
    this.#lastSettleMs = settleMs;
    const durationMs = Math.round(recoveredAtMs - beganAtMs);
    this.#options.log.warn({ durationMs, errors, rejectedRequests }, "the database is available again");
  }
}
