/** Estimates the database's time from the latest time that it returned, so that the clock of the node doesn't matter. */
export class ClockEstimate {
  /** The difference to `performance.now()`, in milliseconds. */
  #offset: number | undefined;

  /** @param time what the database returned just now, in milliseconds since the epoch. */
  set(time: number): void {
    this.#offset = time - performance.now();
  }

  /** In milliseconds since the epoch; undefined until the database has returned its time. */
  estimate(): number | undefined {
    return this.#offset === undefined ? undefined : this.#offset + performance.now();
  }
}
