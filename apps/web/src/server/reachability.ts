/** Unavailable: the server answers, but not ready to work, because its database is away or it is starting or stopping. */
export type Reachability = "reachable" | "unavailable" | "unreachable";

interface ReachabilityMonitorOptions {
  /** The status of a response of `/readyz`. @throws if there is no response. */
  readonly probe: () => Promise<number>;
  /** Called when the server answers again. */
  readonly onBack: () => void;
}

const probeEveryMs = 2_000;

/**
 * Watches whether the server answers, from the first failed call until `/readyz` answers 200. Then what failed is loaded
 * again. A failed call alone doesn't mean that the server is unreachable, so it is probed first.
 */
export class ReachabilityMonitor {
  readonly #probe: () => Promise<number>;
  readonly #onBack: () => void;
  readonly #listeners = new Set<() => void>();
  #state: Reachability = "reachable";
  #isWatching = false;

  constructor({ probe, onBack }: ReachabilityMonitorOptions) {
    this.#probe = probe;
    this.#onBack = onBack;
  }

  get state(): Reachability {
    return this.#state;
  }

  /** Calls the listener after each change; returns a function that stops that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** To be called when a call got no answer, or the answer that the service is unavailable. */
  reportFailure(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch();
  }

  async #watch(): Promise<void> {
    for (;;) {
      this.#set(await this.#look());
      // Also after the first probe, so that a call that fails again and again is not repeated without a pause.
      await new Promise((done) => setTimeout(done, probeEveryMs));
      if (this.#state === "reachable") break;
    }
    this.#isWatching = false;
    this.#onBack();
  }

  async #look(): Promise<Reachability> {
    try {
      return (await this.#probe()) === 200 ? "reachable" : "unavailable";
    } catch {
      return "unreachable";
    }
  }

  #set(state: Reachability): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
