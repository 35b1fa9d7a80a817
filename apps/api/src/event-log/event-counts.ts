import type { Logger } from "pino";

/** One or more occurrences of an event. */
export interface Occurrence {
  /** Identifies the kind. It must not contain text that a caller can vary. */
  readonly kind: string;
  readonly level: "warn" | "error";
  readonly message: string;
  /** Logged with each line; a line that counts several occurrences has the facts of the last one. */
  readonly facts: object;
  /** Logged with the first line of the kind only. */
  readonly err?: unknown;
  /** How many occurrences; 1 by default. */
  readonly count?: number;
}

export interface EventCountsOptions {
  readonly log: Logger;
  /** The shortest time between two lines of one kind, in milliseconds; it doubles up to `maxIntervalMs`. */
  readonly firstIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Reads a monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** Further kinds are counted together. */
const maxKinds = 64;
/** A kind that has not occurred for this long counts as new, in milliseconds. */
const forgetAfterMs = 10 * 60_000;

interface Entry {
  /** Occurrences that no line has reported yet. */
  count: number;
  last: Occurrence;
  lastAtMs: number;
  intervalMs: number;
  dueAtMs: number;
}

/**
 * Logs the first event of each kind immediately, and later ones as counts, at increasing intervals. The counts of all
 * lines add up to the number of events.
 */
export class EventCounts {
  readonly #options: EventCountsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: EventCountsOptions) {
    this.#options = options;
  }

  /** Whether there are events that no line has reported yet. */
  get isPending(): boolean {
    return this.#entries.values().some(({ count }) => count > 0);
  }

  /** Never throws, even if the error can't be serialized. */
  add(occurrence: Occurrence): void {
    const nowMs = this.#options.now();
    const entry = this.#find(occurrence.kind, nowMs);
    const { count = 1 } = occurrence;
    if (entry) {
      entry.count += count;
      entry.last = occurrence;
      entry.lastAtMs = nowMs;
    } else this.#begin(occurrence, nowMs);
  }

  /** Writes the lines that are due. */
  tick(): void {
    const nowMs = this.#options.now();
    for (const entry of this.#entries.values()) {
      if (entry.count === 0 || nowMs < entry.dueAtMs) continue;
      const hasPaused = nowMs - entry.dueAtMs > this.#options.maxIntervalMs;
      const { firstIntervalMs, maxIntervalMs } = this.#options;
      entry.intervalMs = hasPaused ? firstIntervalMs : Math.min(entry.intervalMs * 2, maxIntervalMs);
      entry.dueAtMs = nowMs + entry.intervalMs;
      this.#writeCount(entry);
    }
  }

  /** Writes all pending counts, due or not. */
  flush(): void {
    for (const entry of this.#entries.values()) if (entry.count > 0) this.#writeCount(entry);
  }

  /** The entry to count in: the kind's own, or the one for further kinds; undefined if there is none yet. */
  #find(kind: string, nowMs: number): Entry | undefined {
    const known = this.#entries.get(kind);
    if (known && !this.#isForgotten(known, nowMs)) return known;
    if (known) this.#entries.delete(kind);
    if (this.#entries.size < maxKinds) return undefined;
    for (const [other, entry] of this.#entries) {
      if (this.#isForgotten(entry, nowMs)) this.#entries.delete(other);
    }
    return this.#entries.size < maxKinds ? undefined : this.#entries.get(furtherKinds);
  }

  #isForgotten({ count, lastAtMs }: Entry, nowMs: number): boolean {
    return count === 0 && nowMs - lastAtMs >= forgetAfterMs;
  }

  #begin(occurrence: Occurrence, nowMs: number): void {
    const isOverflowKind = this.#entries.size >= maxKinds;
    const { firstIntervalMs } = this.#options;
    this.#entries.set(isOverflowKind ? furtherKinds : occurrence.kind, {
      count: 0,
      last: occurrence,
      lastAtMs: nowMs,
      intervalMs: firstIntervalMs,
      dueAtMs: nowMs + firstIntervalMs,
    });
    const { level, message, facts, count = 1, err } = occurrence;
    try {
      this.#options.log[level]({ ...facts, count, ...(err === undefined ? {} : { err }) }, message);
    } catch {
      // A getter of the error threw while it was serialized.
      this.#options.log[level]({ ...facts, count }, message);
    }
  }

  #writeCount(entry: Entry): void {
    const { count, last } = entry;
    entry.count = 0;
    const isOverflowKind = this.#entries.get(furtherKinds) === entry;
    const message = isOverflowKind ? `further kinds of errors, the last one: ${last.message}` : last.message;
    this.#options.log[last.level]({ ...last.facts, count }, message);
  }
}

/** No kind has this name, because kinds are JSON. */
const furtherKinds = "further kinds";
