import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import type { HourUsage } from "@latchkey/db/key-history";
import type { Outcome } from "./outcome.ts";

interface Counter {
  readonly keyId: KeyId;
  readonly hour: Date;
  readonly workspaceId: WorkspaceId | null;
  readonly outcome: Outcome;
  /** What is counted and not written yet. */
  count: number;
}

/** What is to be written of a counter. */
export interface TakenCount extends HourUsage {
  readonly counter: Counter;
}

/** So many counters may wait to be written, about 200 bytes each. */
const maxWaiting = 50_000;
/** So many are found again without being made anew. */
const maxIndexed = 50_000;

/**
 * Counts requests by key, hour, workspace and outcome until they are written. A counter that is written goes on
 * from there, so that what cannot be written stays where it is, and more is added to it.
 *
 * Bounded: a request that would need a counter more than may wait is not counted. To find a counter again is
 * forgotten with the hour, and when there are too many of them; nothing that waits is lost by that.
 */
export class HourCounters {
  #hour: Date;
  #index = new Map<KeyId, Map<WorkspaceId | undefined, Map<Outcome, Counter>>>();
  #indexed = 0;
  /** Those with something to write, in the order in which they got it. */
  readonly #waiting = new Set<Counter>();

  constructor(now: Date) {
    this.#hour = hourOf(now);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  count(keyId: KeyId, workspaceId: WorkspaceId | undefined, outcome: Outcome): void {
    const counter =
      this.#index.get(keyId)?.get(workspaceId)?.get(outcome) ?? this.#add(keyId, workspaceId, outcome);
    if (counter.count === 0) {
      if (this.#waiting.size >= maxWaiting) return;
      this.#waiting.add(counter);
    }
    counter.count += 1;
  }

  /** Counts by the hour of this time from now on. */
  turnTo(now: Date): void {
    const hour = hourOf(now);
    if (hour.getTime() === this.#hour.getTime()) return;
    this.#hour = hour;
    this.#forget();
  }

  /** What is to be written of those that have waited longest. */
  take(atMost: number): TakenCount[] {
    return this.#waiting
      .values()
      .take(atMost)
      .map((counter) => {
        const { keyId, hour, workspaceId, outcome, count } = counter;
        return { keyId, hour, workspaceId, outcome, count, counter };
      })
      .toArray();
  }

  /** Takes off what has been written. Who has been counted on meanwhile waits again, behind the others. */
  settle(taken: readonly TakenCount[]): void {
    for (const { counter, count } of taken) {
      counter.count -= count;
      this.#waiting.delete(counter);
      if (counter.count > 0) this.#waiting.add(counter);
    }
  }

  #add(keyId: KeyId, workspaceId: WorkspaceId | undefined, outcome: Outcome): Counter {
    if (this.#indexed >= maxIndexed) this.#forget();
    const workspaces = this.#index.get(keyId) ?? new Map<WorkspaceId | undefined, Map<Outcome, Counter>>();
    const outcomes = workspaces.get(workspaceId) ?? new Map<Outcome, Counter>();
    const counter = { keyId, hour: this.#hour, workspaceId: workspaceId ?? null, outcome, count: 0 };
    this.#index.set(keyId, workspaces.set(workspaceId, outcomes.set(outcome, counter)));
    this.#indexed += 1;
    return counter;
  }

  #forget(): void {
    this.#index = new Map();
    this.#indexed = 0;
  }
}

const hourMs = 3_600_000;

function hourOf(now: Date): Date {
  return new Date(Math.floor(now.getTime() / hourMs) * hourMs);
}
