import { CallerCounts, type CallerState } from "./caller-counts.ts";

/** Delay before postponed requests are queued again, in milliseconds. */
const postponeMs = 10;
const sweepEveryMs = 100;

/** The part of a pending request that the scheduler uses. Only the scheduler changes it. */
export interface PendingState extends CallerState {
  /** By `performance.now()`. */
  readonly arrivedAt: number;
  /** Whether it may fill the queue. Requests that may not fill it are limited to half of it together. */
  readonly mayFillQueue: boolean;
  /** Whether it was postponed, even if it is queued again. */
  wasPostponed: boolean;
  isAnswered: boolean;
}

/** Does the work of the scheduler's batches. Its functions are created once per scheduler and not once per request. */
export interface BatchExecutor<Request extends PendingState> {
  /** Prepares for a batch, for example by connecting; returns undefined if nothing has to be prepared. May fail. */
  readonly prepare: () => Promise<void> | undefined;
  /**
   * Processes a batch. When it ends, each request of the batch must be settled, queued again or postponed; no other request
   * keeps its deadline. If it fails, the scheduler rejects those that aren't settled. Undefined if there was nothing to do.
   */
  readonly execute: (requests: readonly Request[]) => Promise<void> | undefined;
  /** Answers a request that the scheduler settled: past its deadline, beyond a limit, after a failure, or on close. */
  readonly reject: (request: Request) => void;
  /** Reports a failure of these requests. Must not throw: those that are pending are rejected next. */
  readonly report: (error: unknown, requests: readonly Request[]) => void;
  /** Chooses a batch from the first requests of the queue. Without it, a batch has all of them. */
  readonly choose?: (requests: readonly Request[]) => ChosenBatch<Request>;
  /**
   * Whether a second batch may be executed behind the one in flight. Without it, one always may. `dispatchFollowing` must be called
   * when it becomes true.
   */
  readonly mayFollow?: () => boolean;
  /** Cancels work in flight that has not progressed for this many milliseconds. Its batches then fail. */
  readonly cancelIfSilentFor: (milliseconds: number) => void;
}

interface ChosenBatch<Request> {
  readonly chosen: readonly Request[];
  /** They stay at the front of the queue. */
  readonly deferred: readonly Request[];
}

export interface SchedulerOptions {
  /** Deadline of a request, in milliseconds from its arrival. */
  readonly deadlineMs: number;
  /** The most pending requests. */
  readonly maxPending: number;
  /** The largest sum of the sizes of one caller's pending requests. Unlimited by default. */
  readonly maxSizePerCaller?: number;
  /** The most batches in flight. */
  readonly maxInFlight: number;
  /** The most requests in one batch. */
  readonly maxBatch: number;
}

/**
 * Decides when requests are processed, and how many at a time. The executor decides how they are processed and answered.
 *
 * Requests that arrive while a batch is in flight wait in the queue. The next batch takes all of them in the order of their
 * arrival, or those that `choose` returns. It is executed when no batch is in flight or, if `mayFollow` allows it, behind one
 * batch as soon as the queue has as many requests as that batch, so that Postgres never waits for the node between two
 * statements.
 *
 * A request is pending from `add` until `settle` or its rejection, and occupies one place: queued, in flight or postponed. Callers
 * share the places, so that one of them can't occupy all.
 */
export class Scheduler<Request extends PendingState> {
  readonly #executor: BatchExecutor<Request>;
  readonly #deadlineMs: number;
  readonly #maxPending: number;
  readonly #maxSizePerCaller: number;
  readonly #maxInFlight: number;
  readonly #maxBatch: number;
  readonly #sweeper: NodeJS.Timeout;
  /** Requests that are queued, in flight or postponed. */
  #pendingCount = 0;
  /** The sum of their sizes. */
  #pendingSize = 0;
  /** Pending requests that may not fill the queue. */
  #limitedCount = 0;
  /** Pending requests that were postponed, whether they still are or are queued again. */
  #postponedCount = 0;
  readonly #callerCounts = new CallerCounts();
  #queue: Request[] = [];
  /** The batches that were taken from the queue, each until its requests are answered or queued again. */
  readonly #inFlight = new Set<readonly Request[]>();
  /** The requests of each postponement that are not queued again. */
  readonly #postponed = new Set<readonly Request[]>();
  /** Resolves when the scheduler is closed and no batch is in flight. */
  readonly #drained = Promise.withResolvers<void>();
  /** Whether a batch is taken from the queue at the end of this synchronous run. */
  #isDispatchScheduled = false;
  #isClosed = false;

  constructor(executor: BatchExecutor<Request>, options: SchedulerOptions) {
    this.#executor = executor;
    this.#deadlineMs = options.deadlineMs;
    this.#maxPending = options.maxPending;
    this.#maxSizePerCaller = options.maxSizePerCaller ?? Number.POSITIVE_INFINITY;
    this.#maxInFlight = options.maxInFlight;
    this.#maxBatch = options.maxBatch;
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Whether another request of a caller can be added: the caller must have fewer pending requests than there are free places. So one
   * caller occupies at most half of the queue, and each further one at most half of the rest. Requests that may not fill the queue share
   * half of it in the same way. Checked before the request is created, so that a rejection allocates nothing.
   */
  hasRoom(callerId: string, size: number, mayFillQueue: boolean): boolean {
    const free = this.#countFree(mayFillQueue);
    if (free <= 0 || this.#isClosed) return false;
    const maxSize = this.#maxSizePerCaller - size;
    // While all callers together are within the limits of one, so is each of them. Usually few requests are pending, so callers
    // are not counted.
    if (this.#pendingCount < free && this.#pendingSize <= maxSize) return true;
    this.#callerCounts.start(() => [this.#queue, ...this.#inFlight, ...this.#postponed]);
    const callerTotal = this.#callerCounts.find(callerId);
    return callerTotal.requests < free && callerTotal.size <= maxSize;
  }

  /**
   * Adds a request to the end of the queue, even if `hasRoom` returns false. Must not be called once the scheduler is
   * closed, because nothing would answer the request.
   */
  add(request: Request): void {
    this.#pendingCount += 1;
    this.#pendingSize += request.size;
    this.#callerCounts.add(request);
    if (!request.mayFillQueue) this.#limitedCount += 1;
    this.#queue.push(request);
    this.#scheduleDispatch();
  }

  /** Executes a second batch behind the one in flight, if one may be executed. */
  dispatchFollowing(): void {
    this.#scheduleDispatch();
  }

  /** Adds requests of the batch that is being executed to the front of the queue. They go into a later batch. */
  requeue(requests: readonly Request[]): void {
    if (requests.length > 0) this.#queue = requests.concat(this.#queue);
  }

  /**
   * Adds requests of the batch that is being executed to the end of the queue after a short delay. Such requests occupy at
   * most half of the queue; the rest of it is kept for others.
   */
  postpone(requests: readonly Request[]): void {
    for (const request of requests) {
      if (request.isAnswered || request.wasPostponed) continue;
      if (this.#postponedCount >= Math.floor(this.#maxPending / 2)) {
        this.#reject(request);
        continue;
      }
      request.wasPostponed = true;
      this.#postponedCount += 1;
    }
    const kept = requests.filter(({ isAnswered }) => !isAnswered);
    if (kept.length === 0) return;
    this.#postponed.add(kept);
    setTimeout(() => {
      this.#postponed.delete(kept);
      if (this.#isClosed) for (const request of kept) this.#reject(request);
      else this.#queue.push(...kept);
      this.#scheduleDispatch();
    }, postponeMs);
  }

  /**
   * Frees the place of a request. Returns whether it was pending: exactly one call does, and its caller answers the request.
   */
  settle(request: Request): boolean {
    if (request.isAnswered) return false;
    request.isAnswered = true;
    this.#pendingCount -= 1;
    this.#pendingSize -= request.size;
    this.#callerCounts.remove(request);
    if (!request.mayFillQueue) this.#limitedCount -= 1;
    if (request.wasPostponed) this.#postponedCount -= 1;
    return true;
  }

  /** Reports a failure and rejects those of these requests that are pending. */
  fail(requests: readonly Request[], error: unknown): void {
    this.#executor.report(error, requests);
    for (const request of requests) this.#reject(request);
  }

  /** Finishes the batches in flight, and rejects queued requests. Adds, retries and executes nothing afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#inFlight.size > 0) await this.#drained.promise;
    clearInterval(this.#sweeper);
    for (const request of this.#queue) this.#reject(request);
  }

  /** The number of free places. */
  #countFree(mayFillQueue: boolean): number {
    const free = this.#maxPending - this.#pendingCount;
    return mayFillQueue ? free : Math.min(free, this.#maxPending / 2 - this.#limitedCount);
  }

  #reject(request: Request): void {
    if (this.settle(request)) this.#executor.reject(request);
  }

  /** Executes the next batch at the end of this synchronous run, if one may be executed. */
  #scheduleDispatch(): void {
    if (this.#isDispatchScheduled || !this.#canDispatch()) return;
    this.#isDispatchScheduled = true;
    // Requests of one synchronous run go into one batch; the HTTP server admits all requests of an event loop turn in one run.
    queueMicrotask(() => {
      this.#isDispatchScheduled = false;
      if (!this.#isClosed) void this.#dispatch(this.#takeBatch());
    });
  }

  #takeBatch(): readonly Request[] {
    const first = this.#queue.splice(0, this.#maxBatch);
    if (!this.#executor.choose) return first;
    const { chosen, deferred } = this.#executor.choose(first);
    this.requeue(deferred);
    return chosen;
  }

  #canDispatch(): boolean {
    if (this.#queue.length === 0 || this.#isClosed) return false;
    if (this.#inFlight.size >= this.#maxInFlight) return false;
    const [ahead] = this.#inFlight;
    if (!ahead) return true;
    // Smaller batches would take more statements for the same requests.
    return this.#queue.length >= ahead.length && (this.#executor.mayFollow?.() ?? true);
  }

  /**
   * Processes one batch. Never rejects: if anything throws, every pending request of the batch is rejected, so that no
   * request hangs or occupies the queue forever, and the next batch is executed.
   */
  async #dispatch(requests: readonly Request[]): Promise<void> {
    this.#inFlight.add(requests);
    try {
      // Prepares first: a batch must not process requests that are rejected while it waits for a connection.
      const preparation = this.#executor.prepare();
      if (preparation) await preparation;
      this.#rejectOverdue(requests);
      await this.#executor.execute(requests);
    } catch (error) {
      this.fail(requests, error);
    } finally {
      this.#inFlight.delete(requests);
      if (this.#isClosed && this.#inFlight.size === 0) this.#drained.resolve();
      this.#scheduleDispatch();
    }
  }

  /** Rejects requests that are past their deadline. */
  #rejectOverdue(requests: readonly Request[]): void {
    const latest = performance.now() - this.#deadlineMs;
    for (const request of requests) if (request.arrivedAt < latest) this.#reject(request);
  }

  /**
   * Enforces the deadline of each request whatever the executor does, and cancels work in flight that takes longer than the
   * deadline. A request that spent its time elsewhere doesn't cancel the work for others. Ends the counting of callers when few
   * requests are pending.
   */
  #sweep(): void {
    for (const requests of this.#inFlight) this.#rejectOverdue(requests);
    this.#rejectOverdue(this.#queue);
    this.#queue = this.#queue.filter((request) => !request.isAnswered);
    // Lower than the number at which counting usually starts, so that a queue that is about half full isn't counted again in every
    // sweep.
    if (this.#pendingCount < this.#maxPending / 4) this.#callerCounts.stop();
    else this.#callerCounts.removeIdle();
    this.#executor.cancelIfSilentFor(this.#deadlineMs);
  }
}
