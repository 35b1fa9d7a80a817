/** What one caller has pending. */
interface PendingOfCaller {
  requests: number;
  /** The sum of their sizes. */
  size: number;
}

/** The part of a pending request that is counted. */
export interface CallerState {
  /** The ID of the user whose API key the request was made with; another name while that isn't known. */
  readonly callerId: string;
  /** The share of what one caller may have pending, in the unit of the executor. */
  readonly size: number;
  readonly isAnswered: boolean;
  /** What its caller has pending, with this request; undefined if the request wasn't counted. */
  ofCaller: PendingOfCaller | undefined;
}

const nothing: Readonly<PendingOfCaller> = { requests: 0, size: 0 };

/**
 * Counts the pending requests of each caller, so that one caller can't occupy the places of all others.
 *
 * It counts only between `start` and `stop`, because a lookup per request costs up to a microsecond with many callers, and the numbers
 * of single callers don't matter while few requests are pending.
 */
export class PendingOfCallers {
  #callers: Map<string, PendingOfCaller> | undefined;

  /** Starts to count, unless it is counting. @param pending lists of all pending requests. A request can be in several of them. */
  start(pending: () => Iterable<readonly CallerState[]>): void {
    if (this.#callers) return;
    this.#callers = new Map();
    for (const requests of pending()) for (const request of requests) this.add(request);
  }

  stop(): void {
    this.#callers = undefined;
  }

  find(callerId: string): Readonly<PendingOfCaller> {
    return this.#callers?.get(callerId) ?? nothing;
  }

  /** Adds a pending request that isn't added yet. */
  add(request: CallerState): void {
    if (!this.#callers || request.isAnswered) return;
    const { callerId, size } = request;
    const known = this.#callers.get(callerId);
    // A request that was counted before the last stop has another object.
    if (known && known === request.ofCaller) return;
    const ofCaller = known ?? { requests: 0, size: 0 };
    if (!known) this.#callers.set(callerId, ofCaller);
    ofCaller.requests += 1;
    ofCaller.size += size;
    request.ofCaller = ofCaller;
  }

  /** Removes a request when it is answered, whether it was counted or not. */
  remove({ ofCaller, size }: CallerState): void {
    if (!ofCaller) return;
    ofCaller.requests -= 1;
    ofCaller.size -= size;
  }

  /** Removes callers without pending requests. */
  removeIdle(): void {
    if (!this.#callers) return;
    for (const [callerId, { requests }] of this.#callers) if (requests === 0) this.#callers.delete(callerId);
  }
}
