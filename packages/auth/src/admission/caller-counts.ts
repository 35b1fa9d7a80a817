/** What one caller has pending. */
interface CallerCount {
  requests: number;
  /** The sum of their sizes. */
  size: number;
}

/** The part of a pending request that is counted. */
export interface CallerState {
  /** The ID of the user whose API key the request was made with; the digest of the key while the user isn't known. */
  readonly callerId: string;
  /** The share of what one caller may have pending, in the unit of the executor. */
  readonly size: number;
  readonly isAnswered: boolean;
  /** The counts of its caller, which include this request; undefined if it was never counted. */
  callerTotal: CallerCount | undefined;
}

const nothing: Readonly<CallerCount> = { requests: 0, size: 0 };

/**
 * Counts the pending requests of each caller, so that one caller can't occupy the places of all others.
 *
 * It counts only between `start` and `stop`, because a lookup per request costs up to a microsecond with many callers, and the numbers
 * of single callers don't matter while few requests are pending.
 */
export class CallerCounts {
  #callers: Map<string, CallerCount> | undefined;

  /** Starts to count, unless it is counting. @param pending lists of all pending requests. A request can be in several of them. */
  start(pending: () => Iterable<readonly CallerState[]>): void {
    if (this.#callers) return;
    this.#callers = new Map();
    for (const requests of pending()) for (const request of requests) this.add(request);
  }

  stop(): void {
    this.#callers = undefined;
  }

  find(callerId: string): Readonly<CallerCount> {
    return this.#callers?.get(callerId) ?? nothing;
  }

  /** Adds a pending request that isn't added yet. */
  add(request: CallerState): void {
    if (!this.#callers || request.isAnswered) return;
    const { callerId, size } = request;
    const known = this.#callers.get(callerId);
    // A request that was counted before the last stop has another object.
    if (known && known === request.callerTotal) return;
    const callerTotal = known ?? { requests: 0, size: 0 };
    if (!known) this.#callers.set(callerId, callerTotal);
    callerTotal.requests += 1;
    callerTotal.size += size;
    request.callerTotal = callerTotal;
  }

  /** Removes a request when it is answered, whether it was counted or not. */
  remove({ callerTotal, size }: CallerState): void {
    if (!callerTotal) return;
    callerTotal.requests -= 1;
    callerTotal.size -= size;
  }

  /** Removes callers without pending requests. */
  removeIdle(): void {
    if (!this.#callers) return;
    for (const [callerId, { requests }] of this.#callers) if (requests === 0) this.#callers.delete(callerId);
  }
}
