/** The longest latency told apart, in microseconds; what took longer counts as this. */
const longestMicroseconds = 10_000_000;

/** Counts latencies to the microsecond; recording one is an increment. */
export class Latencies {
  // Zeroed memory is the kernel's until touched, so that the unused end costs nothing.
  readonly #counts = new Uint32Array(longestMicroseconds + 1);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  record(milliseconds: number): void {
    const microseconds = Math.min(Math.round(milliseconds * 1_000), longestMicroseconds);
    this.#counts[microseconds] = (this.#counts[microseconds] ?? 0) + 1;
    this.#total += 1;
  }

  /** The latency that `share` (0 to 1) of all did not exceed, in microseconds; 0 when there is none. */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#total));
    let seen = 0;
    for (let microseconds = 0; microseconds <= longestMicroseconds; microseconds += 1) {
      seen += this.#counts[microseconds] ?? 0;
      if (seen >= rank) return microseconds;
    }
    return 0;
  }
}
