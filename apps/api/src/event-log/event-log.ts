import { isDatabaseOutage } from "@latchkey/db/database-failure";
import type { AppError } from "@latchkey/errors";
import type { Logger } from "pino";
import { DatabaseOutage, healthCheck } from "./database-outage.ts";
import { kindOfError } from "./error-kind.ts";
import { EventCounts, type Occurrence } from "./event-counts.ts";

export interface EventLogOptions {
  readonly log: Logger;
  /** Queries the database, to detect the end of an outage. */
  readonly isDatabaseAvailable: () => Promise<boolean>;
  /** The shortest and longest time between two lines of one kind, in milliseconds; 5,000 and 60,000 by default. */
  readonly firstIntervalMs?: number;
  readonly maxIntervalMs?: number;
  /**
   * How long the database must have been available before an outage counts as ended, in milliseconds; 2,000 by
   * default.
   */
  readonly settleMs?: number;
}

/** A request that was answered with a status of 500 or above. */
export interface FailedRequest {
  readonly source: "open API" | "web app";
  readonly error: AppError;
  readonly requestId: string;
  /** The tRPC procedure that failed. */
  readonly procedure?: string | undefined;
}

/** The longest time between two checks for due lines, and for the end of an outage, in milliseconds. */
const maxTickMs = 500;

/**
 * Logs events that callers and outages can cause any number of times, in a limited number of lines: counts per kind of
 * event ({@link EventCounts}), and database outages ({@link DatabaseOutage}). No event is lost: `close` writes what is
 * pending. No method throws.
 */
export class EventLog {
  readonly #counts: EventCounts;
  readonly #outage: DatabaseOutage;
  /** Requests that got 503 since the last tick, without a known cause. */
  #overloaded = 0;
  #lastOverloaded: FailedRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #tickMs: number;

  constructor(options: EventLogOptions) {
    const { log, isDatabaseAvailable, settleMs = 2_000 } = options;
    const { firstIntervalMs = 5_000, maxIntervalMs = 60_000 } = options;
    this.#tickMs = Math.min(maxTickMs, firstIntervalMs);
    const now = (): number => performance.now();
    this.#counts = new EventCounts({ log, firstIntervalMs, maxIntervalMs, now });
    this.#outage = new DatabaseOutage({ log, isDatabaseAvailable, settleMs, now });
  }

  /** Counts an event that isn't an error. */
  count(occurrence: Occurrence): void {
    this.#counts.add(occurrence);
    this.#schedule();
  }

  /** Counts a failure of a part of the node that runs in the background, such as the purger. */
  reportFailure(source: string, error: unknown, message: string): void {
    if (isDatabaseOutage(error)) this.#fail(error, source);
    else this.#countError({ source, error, message, level: "error", facts: { source } });
  }

  /** Counts a failure of admission. @param isHealthCheck whether no request failed, but only health checks. */
  reportAdmissionFailure(error: unknown, isHealthCheck: boolean): void {
    const source = isHealthCheck ? healthCheck : "admission";
    this.reportFailure(source, error, "requests could not be admitted");
  }

  /** Counts a request that was answered with a status of 500 or above. Call it once per request and error. */
  reportRequest(failed: FailedRequest): void {
    const { source, error, requestId, procedure } = failed;
    if (isDatabaseOutage(error.cause)) {
      this.#fail(error.cause, source);
      this.#outage.countRejected(1);
    } else if (error.code === "SERVICE_UNAVAILABLE" && error.cause === undefined) {
      // An outage as the cause may be detected later: a silent database is noticed only when requests time out.
      this.#overloaded += 1;
      this.#lastOverloaded = failed;
      this.#schedule();
    } else {
      const level = error.code === "SERVICE_UNAVAILABLE" ? "warn" : "error";
      const facts = { source, requestId, ...(procedure === undefined ? {} : { procedure }) };
      this.#countError({ source, error: error.cause ?? error, message: error.message, level, facts });
    }
  }

  /** Writes everything that is pending. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#settleOverloaded();
    this.#counts.flush();
    this.#outage.flush();
  }

  #fail(error: unknown, source: string): void {
    this.#outage.fail(error, source);
    this.#schedule();
  }

  #countError(failure: {
    readonly source: string;
    readonly error: unknown;
    readonly message: string;
    readonly level: Occurrence["level"];
    readonly facts: object;
  }): void {
    const { source, error: err, message, level, facts } = failure;
    const { error, code, at } = kindOfError(err);
    const kind = JSON.stringify([source, error, code, at]);
    this.count({ kind, level, message, facts: { ...facts, error, code, at }, err });
  }

  /** Counts the requests without a known cause in the outage if there is one, otherwise as an overload. */
  #settleOverloaded(): void {
    const count = this.#overloaded;
    if (count === 0) return;
    this.#overloaded = 0;
    if (this.#outage.isOngoing) {
      this.#outage.countRejected(count);
      return;
    }
    this.#counts.add({
      kind: JSON.stringify(["overload"]),
      level: "warn",
      message: "requests got 503: too many requests were waiting, or the database took too long",
      facts: { requestId: this.#lastOverloaded?.requestId },
      count,
    });
  }

  /** Ticks until nothing is pending. The timer never keeps the process alive. */
  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#settleOverloaded();
      this.#counts.tick();
      this.#outage.tick();
      if (this.#outage.isOngoing || this.#counts.isPending) this.#schedule();
    }, this.#tickMs).unref();
  }
}
