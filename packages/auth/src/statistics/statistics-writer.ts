import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { databaseFailure } from "@latchkey/db/database-failure";
import { ReconnectBackoff } from "@latchkey/db/reconnect-backoff";
import type { Db } from "@latchkey/db/schema";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type { Clock } from "./database-clock.ts";

export interface StatisticsOptions {
  readonly connection: DatabaseConnection;
  /** How often recorded data is written, in milliseconds; 1,000 by default. */
  readonly flushEveryMs?: number;
  /** How long the last writes of `close` may take, in milliseconds; 2,000 by default. */
  readonly lastFlushMs?: number;
  /** Called with each failure to write. */
  readonly onFailure?: (error: unknown) => void;
  /** The database's clock, so that every node counts a request in the same hour. */
  readonly clock: Clock;
}

/** Part of the recorded data, which is written in one transaction. */
export interface StatisticsBatch {
  readonly write: (db: Db) => Promise<void>;
  /** Whether the part is as large as a part can be, so that more data may wait. */
  readonly isFull: boolean;
  /** Removes the part from memory, after it was written or dropped. */
  readonly settle: () => void;
}

/** Data that is recorded in memory until it is written. Its memory is bounded. */
export interface StatisticsSource {
  /** How much waits to be written. */
  readonly pendingCount: number;
  /** Notes the time of the requests that follow, in milliseconds since 1970. */
  setTime(nowMs: number): void;
  /** The data that has waited longest. */
  take(): StatisticsBatch;
}

/** The result of a write: what the next one can do. */
type WriteResult =
  /** Nothing, or only data that has been recorded in the meantime. */
  | "written"
  /** Write data that had to wait. */
  | "written-in-part"
  /** Succeed, because Postgres rolled this one back: a row was locked for too long, for example. */
  | "rolled-back"
  /** Fail too. */
  | "unavailable";

/** The number of writes that is enough to write everything that can wait, even if some of them are rolled back. */
const maxRounds = 30;
/** How long writes that follow each other without a pause may take before the last of them starts, in milliseconds. */
const maxConsecutiveMs = 700;
/** How often the clock is synchronized, in milliseconds. In this time, a monotonic clock drifts by a few milliseconds. */
const maintainEveryMs = 60_000;
/** How long the connection may take to end after the last writes, in milliseconds. */
const disconnectMs = 500;

/**
 * Writes statistics on a timer, on a separate connection. Requests don't wait for it, and its failures don't fail a request.
 * `kill -9` loses what is not written yet.
 *
 * Data that can't be written is kept and written later. If the response to a commit is lost, its data is written again,
 * and its counts are added twice. If Postgres rejects data for any reason other than being unavailable or busy, the
 * data is dropped, because it would block all later writes.
 */
export class StatisticsWriter {
  readonly #connection: DatabaseConnection;
  readonly #onFailure: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #sources: readonly StatisticsSource[];
  readonly #lastFlushMs: number;
  readonly #timer: NodeJS.Timeout;
  #db: Db;
  /** The time at the last tick, in milliseconds since 1970. */
  #nowMs: number;
  #maintainedAtMs: number;
  /** Settles when all tasks on the connection, in flight and waiting, have ended. */
  #lastTask: Promise<void> = Promise.resolve();
  /** Skips ticks after a failure, for at most 3 s, so that writing resumes within 5 s after the database is back. */
  readonly #backoff = new ReconnectBackoff({ firstMs: 1_000, maxMs: 3_000 });
  #isBusy = false;
  #isClosed = false;

  constructor(options: StatisticsOptions, sources: readonly StatisticsSource[]) {
    this.#connection = options.connection;
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#clock = options.clock;
    this.#sources = sources;
    this.#lastFlushMs = options.lastFlushMs ?? 2_000;
    this.#nowMs = this.#readClock();
    this.#maintainedAtMs = this.#nowMs;
    this.#db = this.#open();
    this.#timer = setInterval(() => this.#tick(), options.flushEveryMs ?? 1_000);
    this.#timer.unref();
  }

  /** Performs one write; never throws. */
  async flush(): Promise<void> {
    this.#readClock();
    await this.#enqueue(() => this.#write());
  }

  /** Writes everything that waits, for `lastFlushMs` at most, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#readClock();
    const endsAt = performance.now() + this.#lastFlushMs;
    const written = this.#enqueue(async () => {
      for (let round = 0; round < maxRounds && performance.now() < endsAt; round += 1)
        if (!this.#sources.some(hasPending) || (await this.#write()) === "unavailable") return;
    });
    await Promise.race([written, delay(this.#lastFlushMs, undefined, { ref: false })]);
    await Promise.race([this.#db.destroy(), delay(disconnectMs, undefined, { ref: false })]);
  }

  #tick(): void {
    this.#readClock();
    if (this.#isBusy || !this.#backoff.isDue) return;
    void this.#enqueue(async () => {
      const isDue = this.#nowMs - this.#maintainedAtMs >= maintainEveryMs;
      if (isDue) await this.#synchronize();
      const endsAt = performance.now() + maxConsecutiveMs;
      while ((await this.#write()) === "written-in-part" && !this.#isClosed && performance.now() < endsAt);
    });
  }

  #readClock(): number {
    this.#nowMs = this.#clock.nowMs();
    for (const source of this.#sources) source.setTime(this.#nowMs);
    return this.#nowMs;
  }

  /**
   * The next synchronization is due a minute after the new time, so that a clock that was set back doesn't delay it.
   */
  async #synchronize(): Promise<void> {
    await this.#attempt((db) => this.#clock.synchronize(db));
    this.#maintainedAtMs = this.#readClock();
  }

  async #enqueue(work: () => Promise<unknown>): Promise<void> {
    const task = this.#lastTask.then(async () => {
      this.#isBusy = true;
      try {
        await work();
      } catch {
        // `onFailure` threw. The next task must run anyway.
      } finally {
        this.#isBusy = false;
      }
    });
    this.#lastTask = task;
    await task;
  }

  /** Performs one write of each source. */
  async #write(): Promise<WriteResult> {
    const results = new Set<WriteResult>();
    for (const source of this.#sources.filter(hasPending)) {
      const { write, settle, isFull } = source.take();
      const result = await this.#attempt(write);
      if (result === "unavailable" || result === "rolled-back") {
        results.add(result);
        continue;
      }
      settle();
      // After a failure, the rest waits for the next tick, because it would probably be dropped too.
      if (isFull && result !== "failed") results.add("written-in-part");
    }
    const worstFirst = ["unavailable", "rolled-back", "written-in-part"] as const;
    return worstFirst.find((result) => results.has(result)) ?? "written";
  }

  /**
   * Runs `work` on the connection. Replaces the connection after a failure, because one that doesn't respond would also
   * fail the next task.
   */
  async #attempt<Result>(
    work: (db: Db) => Promise<Result>,
  ): Promise<Result | "unavailable" | "rolled-back" | "failed"> {
    try {
      const result = await work(this.#db);
      this.#backoff.succeed();
      return result;
    } catch (error) {
      if (databaseFailure(error) && !isDefiniteAbort(error)) this.#backoff.fail(error);
      this.#onFailure(error);
      if (!this.#isClosed) {
        this.#db.destroy().catch(() => undefined);
        this.#db = this.#open();
      }
      if (isDefiniteAbort(error)) return "rolled-back";
      return databaseFailure(error) ? "unavailable" : "failed";
    }
  }

  #open(): Db {
    return openDatabase(this.#connection, {
      role: "latchkey_admission",
      applicationName: "latchkey statistics",
      maxConnections: 1,
      rejectsStandby: true,
    });
  }
}

function hasPending({ pendingCount }: StatisticsSource): boolean {
  return pendingCount > 0;
}
