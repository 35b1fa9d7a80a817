interface Pending {
  requests: number;
  verifications: number;
}

/** Counts the pending requests and verifications of each caller, so that one caller can't occupy the places of all others. */
export class PendingOfCallers {
  readonly #maxVerifications: number;
  readonly #pending = new Map<string, Pending>();

  /** @param maxVerifications the most pending verifications of one caller. */
  constructor(maxVerifications: number) {
    this.#maxVerifications = maxVerifications;
  }

  /**
   * Adds a request unless the caller has too many pending requests or verifications.
   * @param options.maxRequests the most pending requests of the caller, including this one.
   * @returns a function that removes the request, to be called once; undefined if the request was not added.
   */
  add(
    caller: string,
    { verifications, maxRequests }: { readonly verifications: number; readonly maxRequests: number },
  ): (() => void) | undefined {
    const pending = this.#pending.get(caller) ?? { requests: 0, verifications: 0 };
    if (pending.requests >= maxRequests || pending.verifications + verifications > this.#maxVerifications)
      return undefined;
    pending.requests += 1;
    pending.verifications += verifications;
    this.#pending.set(caller, pending);
    return () => {
      pending.requests -= 1;
      pending.verifications -= verifications;
      if (pending.requests === 0) this.#pending.delete(caller);
    };
  }
}
