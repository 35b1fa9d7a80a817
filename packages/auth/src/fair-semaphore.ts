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
  /** Creates the error of a rejected task; by default SERVICE_UNAVAILABLE with `Retry-After`. */
  readonly createRejection?: () => AppError;
}

/** The tasks of one key. A queue without any task is deleted, so that memory is bounded by running and waiting tasks. */
interface KeyQueue {
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
  readonly #createRejection: () => AppError;
  readonly #queues = new Map<Key, KeyQueue>();
  /** Queues that would start a task if `maxRunning` allowed it; the first one is next. */
  readonly #ready = new Set<KeyQueue>();
  #running = 0;
  #waiting = 0;

  constructor({
    maxRunning = Number.POSITIVE_INFINITY,
    maxRunningPerKey = maxRunning,
    maxWaiting = Number.POSITIVE_INFINITY,
    maxWaitingPerKey,
    createRejection = overloaded,
  }: FairSemaphoreOptions) {
    this.#maxRunning = maxRunning;
    this.#maxRunningPerKey = maxRunningPerKey;
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingPerKey = maxWaitingPerKey;
    this.#createRejection = createRejection;
  }

  /** The number of keys that have a running or waiting task. */
  get keyCount(): number {
    return this.#queues.size;
  }

  /**
   * Runs a task when its key's turn has come.
   * @param deadline a task that has not started by then is rejected; in milliseconds, by `performance.now()`.
   * @throws {AppError} by default SERVICE_UNAVAILABLE with `Retry-After` when the deadline passes or too many tasks wait;
   *   otherwise what the task throws.
   */
  async run<Result>(key: Key, deadline: number, task: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: new Set() };
    if (performance.now() > deadline) throw this.#createRejection();
    if (this.#running < this.#maxRunning && queue.running < this.#maxRunningPerKey) {
      this.#queues.set(key, queue);
      this.#start(queue);
    } else {
      await this.#wait(key, queue, deadline);
    }
    try {
      // Timers fire late when the event loop is busy.
      if (performance.now() > deadline) throw this.#createRejection();
      return await task();
    } finally {
      this.#end(key, queue);
    }
  }

  #start(queue: KeyQueue): void {
    queue.running += 1;
    this.#running += 1;
  }

  /** Settles when `#end` has started the task, which therefore already counts as running. */
  #wait(key: Key, queue: KeyQueue, deadline: number): Promise<void> {
    if (this.#waiting >= this.#maxWaiting || queue.waiting.size >= this.#maxWaitingPerKey)
      throw this.#createRejection();
    this.#queues.set(key, queue);
    return new Promise((started, failed) => {
      const start = (): void => {
        clearTimeout(timer);
        started();
      };
      const giveUp = (): void => {
        this.#leave(queue, start);
        this.#forgetIdle(key, queue);
        failed(this.#createRejection());
      };
      const timer = setTimeout(giveUp, Math.min(deadline - performance.now(), maxTimerMs));
      queue.waiting.add(start);
      this.#waiting += 1;
      if (queue.running < this.#maxRunningPerKey) this.#ready.add(queue);
    });
  }

  #leave(queue: KeyQueue, start: () => void): void {
    queue.waiting.delete(start);
    this.#waiting -= 1;
    if (queue.waiting.size === 0) this.#ready.delete(queue);
  }

  /** Passes the free slot to a waiting task synchronously, so that a new task can't take it. */
  #end(key: Key, queue: KeyQueue): void {
    queue.running -= 1;
    this.#running -= 1;
    if (queue.waiting.size > 0) this.#ready.add(queue);
    const [next] = this.#ready;
    if (next) this.#startNext(next);
    this.#forgetIdle(key, queue);
  }

  #startNext(queue: KeyQueue): void {
    const [start] = queue.waiting;
    if (!start) return;
    this.#start(queue);
    this.#leave(queue, start);
    // Moves the queue behind the others, so that keys alternate.
    this.#ready.delete(queue);
    if (queue.waiting.size > 0 && queue.running < this.#maxRunningPerKey) this.#ready.add(queue);
    start();
  }

  #forgetIdle(key: Key, queue: KeyQueue): void {
    if (queue.running === 0 && queue.waiting.size === 0) this.#queues.delete(key);
  }
}

function overloaded(): AppError {
  return new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
}
