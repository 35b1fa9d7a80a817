import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";

/** Units of work of one user that may be under way at once: more would wait for each other's locks. */
const atOnce = 2;
/** How many may wait beside them. */
const maxWaiting = 500;

interface Line {
  underWay: number;
  readonly waiting: (() => void)[];
}

/**
 * Has each user's changes take turns before they take a connection. Many at once wait for one another's locks anyway, and
 * would meanwhile hold all connections, which everybody else then waits for.
 */
export class Turns {
  readonly #lines = new Map<UserId, Line>();

  /**
   * Runs a task when it is this user's turn.
   * @param deadline when it is not worth beginning any more, by `performance.now()`.
   * @throws {AppError} SERVICE_UNAVAILABLE when the deadline is over or too many wait; else what the task throws.
   */
  async take<Result>(userId: UserId, deadline: number, task: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(userId) ?? { underWay: 0, waiting: [] };
    this.#lines.set(userId, line);
    if (line.underWay < atOnce) line.underWay += 1;
    else if (line.waiting.length < maxWaiting) await new Promise<void>((go) => line.waiting.push(go));
    else throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
    try {
      if (performance.now() > deadline) throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
      return await task();
    } finally {
      this.#end(userId, line);
    }
  }

  /** Whoever waits longest takes over the turn. */
  #end(userId: UserId, line: Line): void {
    const next = line.waiting.shift();
    if (next) next();
    else line.underWay -= 1;
    if (line.underWay === 0) this.#lines.delete(userId);
  }
}
