import { readClock } from "@latchkey/db/clock";
import type { Db } from "@latchkey/db/schema";

/** The clock by which history is recorded. */
export interface Clock {
  /** Whole milliseconds since 1970. */
  nowMs(): number;
  /** Compares the clock with the database's. @throws what the driver throws; the clock then continues as before. */
  synchronize(db: Db): Promise<void>;
}

/**
 * The database's clock without a query: its time at the last synchronization plus what a monotonic clock has measured
 * since. The node's date is never read, so it may be wrong or be set at any time. The error is at most half the round
 * trip of the last synchronization plus the drift since. After a machine was suspended, the clock is behind until the
 * next synchronization.
 */
export class DatabaseClock implements Clock {
  readonly #monotonicMs: () => number;
  /** How far the database's clock is ahead of the monotonic one. */
  #aheadMs = 0;

  private constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** @throws what the driver throws. */
  static async read(db: Db, monotonicMs: () => number = () => performance.now()): Promise<DatabaseClock> {
    const clock = new DatabaseClock(monotonicMs);
    await clock.synchronize(db);
    return clock;
  }

  nowMs(): number {
    return Math.floor(this.#monotonicMs() + this.#aheadMs);
  }

  async synchronize(db: Db): Promise<void> {
    const sentAtMs = this.#monotonicMs();
    const now = await readClock(db);
    this.#aheadMs = now.getTime() - (sentAtMs + this.#monotonicMs()) / 2;
  }
}
