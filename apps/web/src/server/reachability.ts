/**
 * Unavailable: the server responds but isn't ready, because it is starting or stopping or can't
 * reach its database.
 */
export type Reachability = "reachable" | "unavailable" | "unreachable";

interface ReachabilityMonitorOptions {
  /**
   * Returns the status of a response of `/readyz`. @throws if there is no response, or if the signal
   * aborts before.
   */
  readonly probe: (signal: AbortSignal) => Promise<number>;
  /** Called when the server is ready again. */
  readonly onRecovered: () => void;
}

const probeIntervalMs = 2_000;
/** A server that accepts connections but doesn't respond is unreachable after this time. */
const probeTimeoutMs = 5_000;

/**
 * Monitors the server from the first failed call until `/readyz` responds with 200, then calls
 * `onRecovered`. A failed call doesn't prove that the server is unreachable, so the monitor probes
 * it before it changes the state.
 */
export class ReachabilityMonitor {
  readonly #probe: (signal: AbortSignal) => Promise<number>;
  readonly #onRecovered: () => void;
  readonly #listeners = new Set<() => void>();
  #state: Reachability = "reachable";
  #isWatching = false;

  constructor({ probe, onRecovered }: ReachabilityMonitorOptions) {
    this.#probe = probe;
    this.#onRecovered = onRecovered;
  }

  get state(): Reachability {
    return this.#state;
  }

  /** Calls the listener after each change. Returns a function that unsubscribes it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reports a call that got no response, or a response that the service is unavailable. */
  reportFailure(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch();
  }

  async #watch(): Promise<void> {
    for (;;) {
      this.#set(await this.#probeState());
      // Waits even if the first probe succeeds. Otherwise, a call that keeps failing would be
      // repeated without a pause.
      await new Promise((done) => setTimeout(done, probeIntervalMs));
      if (this.#state === "reachable") break;
    }
    this.#isWatching = false;
    this.#onRecovered();
  }

  async #probeState(): Promise<Reachability> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), probeTimeoutMs);
    try {
      return (await this.#probe(controller.signal)) === 200 ? "reachable" : "unavailable";
    } catch {
      return "unreachable";
    } finally {
      clearTimeout(timer);
    }
  }

  #set(state: Reachability): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
