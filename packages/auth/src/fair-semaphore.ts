import { AppError } from "@latchkey/errors";

export interface FairSemaphoreOptions {
  /** How many tasks run at a time, over all keys; unlimited by default. */
  readonly maxRunning?: number;
  /** How many tasks of one key run at a time; `maxRunning` by default. */
  readonly maxRunningPerKey?: number;
  /** How many tasks wait, over all keys; unlimited by default. */
  readonly maxWaiting?: number;
  /** How many tasks of one key wait. */
  readonly maxWaitingPerKey: number;
}

/** The tasks of one key. A line without any task is deleted, so that memory is bounded by running and waiting tasks. */
interface Line {
  running: number;
  /**
   * Functions that start a task, oldest first. A set, so that a task whose deadline passes leaves it in constant time.
   */
  readonly waiting: Set<() => void>;
}

/** The longest delay of a timer, in milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Limits how many tasks run and wait, in total and per key. The tasks of one key start in the order of their arrival.
 * Keys with waiting tasks alternate, so that a key with many tasks delays the first task of another key by at most one
 * task.
 */
export class FairSemaphore<Key> {
  readonly #maxRunning: number;
  readonly #maxRunningPerKey: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingPerKey: number;
  readonly #lines = new Map<Key, Line>();
  /** Lines that would start a task if `maxRunning` allowed it; the first one is next. */
  readonly #ready = new Set<Line>();
  #running = 0;
  #waiting = 0;

  constructor({
    maxRunning = Number.POSITIVE_INFINITY,
    maxRunningPerKey = maxRunning,
    maxWaiting = Number.POSITIVE_INFINITY,
    maxWaitingPerKey,
  }: FairSemaphoreOptions) {
    this.#maxRunning = maxRunning;
    this.#maxRunningPerKey = maxRunningPerKey;
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingPerKey = maxWaitingPerKey;
  }

  /**
   * Runs a task when its key's turn has come.
   * @param deadline a task that has not started by then is rejected; in milliseconds, by `performance.now()`.
   * @throws {AppError} SERVICE_UNAVAILABLE with `Retry-After` when the deadline passes or too many tasks wait; otherwise
   *   what the task throws.
   */
  async run<Result>(key: Key, deadline: number, task: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? { running: 0, waiting: new Set() };
    if (performance.now() > deadline) throw overloaded();
    if (this.#running < this.#maxRunning && line.running < this.#maxRunningPerKey) {
      this.#lines.set(key, line);
      this.#start(line);
    } else {
      await this.#wait(key, line, deadline);
    }
    try {
      // Timers fire late when the event loop is busy.
      if (performance.now() > deadline) throw overloaded();
      return await task();
    } finally {
      this.#end(key, line);
    }
  }

  #start(line: Line): void {
    line.running += 1;
    this.#running += 1;
  }

  /** Settles when `#end` has started the task, which therefore already counts as running. */
  #wait(key: Key, line: Line, deadline: number): Promise<void> {
    if (this.#waiting >= this.#maxWaiting || line.waiting.size >= this.#maxWaitingPerKey) throw overloaded();
    this.#lines.set(key, line);
    return new Promise((started, failed) => {
      const start = (): void => {
        clearTimeout(timer);
        started();
      };
      const giveUp = (): void => {
        this.#leave(line, start);
        this.#forgetIdle(key, line);
        failed(overloaded());
      };
      const timer = setTimeout(giveUp, Math.min(deadline - performance.now(), maxTimerMs));
      line.waiting.add(start);
      this.#waiting += 1;
      if (line.running < this.#maxRunningPerKey) this.#ready.add(line);
    });
  }

  #leave(line: Line, start: () => void): void {
    line.waiting.delete(start);
    this.#waiting -= 1;
    if (line.waiting.size === 0) this.#ready.delete(line);
  }

  /** Passes the free slot to a waiting task synchronously, so that a new task can't take it. */
  #end(key: Key, line: Line): void {
    line.running -= 1;
    this.#running -= 1;
    if (line.waiting.size > 0) this.#ready.add(line);
    const [next] = this.#ready;
    if (next) this.#startNext(next);
    this.#forgetIdle(key, line);
  }

  #startNext(line: Line): void {
    const [start] = line.waiting;
    if (!start) return;
    this.#start(line);
    this.#leave(line, start);
    // Moves the line behind the others, so that keys alternate.
    this.#ready.delete(line);
    if (line.waiting.size > 0 && line.running < this.#maxRunningPerKey) this.#ready.add(line);
    start();
  }

  #forgetIdle(key: Key, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) this.#lines.delete(key);
  }
}

function overloaded(): AppError {
  return new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
}
