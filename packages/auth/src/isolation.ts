/** How long a name stays isolated, in milliseconds. */
const isolatedMs = 1_000;
/** The maximum number of isolated names. Beyond it, the names that were added earliest are removed. */
const maxIsolated = 10_000;

/**
 * Remembers the keys, consumers, workspaces and users that recently kept a batch waiting for a lock, made it fail or were not
 * counted. Requests that need one of them are handled separately from all others, so that none of them delays a batch of other
 * requests more than once per second.
 */
export class Isolation {
  /** When the isolation of each name ends, soonest first. */
  readonly #until = new Map<string, number>();

  /** Isolates each name for a second from now. @param now in milliseconds, by `performance.now()`. */
  add(names: Iterable<string>, now: number): void {
    for (const name of names) {
      this.#until.delete(name);
      this.#until.set(name, now + isolatedMs);
    }
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= maxIsolated) return;
      this.#until.delete(oldest);
    }
  }

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  /** Removes names whose isolation has ended. */
  removeEnded(now: number): void {
    for (const [name, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(name);
    }
  }

  delete(names: Iterable<string>): void {
    for (const name of names) this.#until.delete(name);
  }

  has(name: string): boolean {
    return this.#until.has(name);
  }
}
