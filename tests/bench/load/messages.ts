/** What the generator's process is to do. */
export interface LoadOrder {
  /** The whole address, path included. */
  readonly url: string;
  /** Each connection sends its own share of them in turn, so that no key is under way twice. One key goes to all. */
  readonly keys: readonly string[];
  readonly connections: number;
  /** Whether to send each key once, over many connections, before the connections asked for begin. */
  readonly sendsEachKeyFirst: boolean;
  /** Ends by itself after this many requests; without it, when told. */
  readonly requests?: number;
}

/** What the runner says after its order: from now on count, stop counting and end. */
export type LoadCommand = "open" | "close";

/** What came back between `open` and `close`. */
export interface LoadWindow {
  readonly kind: "window";
  readonly requests: number;
  readonly seconds: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  /** Processor time of the generator, user and system. */
  readonly generatorMicroseconds: number;
}

/** What came back in all. Every answer was a 2xx: anything else ends the generator with an error. */
export interface LoadTotal {
  readonly kind: "total";
  readonly answered: number;
  /** Answered, and cut off at the end before their answer. */
  readonly sent: number;
  /** At once, at any time. */
  readonly mostConnections: number;
}

/** `started`: the connections asked for are sending. */
export type LoadReport = { readonly kind: "started" } | LoadWindow | LoadTotal;
