import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { HourUsage } from "@latchkey/db/key-history";
import type { Outcome } from "./outcome.ts";

/** The key of a request and its owner. */
export interface CountedKey {
  readonly keyId: KeyId;
  readonly userId: UserId;
}

interface Counter extends CountedKey {
  readonly hour: Date;
  readonly workspaceId: WorkspaceId | null;
  readonly outcome: Outcome;
  /** Requests that were counted and not written yet. */
  count: number;
}

/** The part of a counter that is to be written. */
export interface PendingCount extends HourUsage {
  readonly counter: Counter;
}

/** The most counters that wait to be written, about 200 bytes each. */
const maxPending = 50_000;
/** The most counters of one user's keys that wait to be written: a tenth of the total, which takes three writes. */
const maxPendingPerUser = 5_000;
/** The most counters in the index. */
const maxIndexed = 50_000;

/**
 * Counts requests by key, hour, workspace and outcome until they are written. Writing a count subtracts it from its
 * counter, so a count that can't be written stays and keeps growing.
 *
 * Memory is bounded. A request that would need one more pending counter than allowed is not counted. A user has many
 * keys in many workspaces, so each user may use only a part of the pending counters, and the requests of other users
 * are still counted. The index, which finds the counter of a request, is cleared when the hour changes and when it is
 * full. Counters that wait are kept separately, so nothing is lost.
 */
export class HourCounters {
  #hour: Date;
  #index = new Map<KeyId, Map<WorkspaceId | undefined, Map<Outcome, Counter>>>();
  #indexed = 0;
  /** Counters with requests to write, in the order in which they started to wait. */
  readonly #pending = new Set<Counter>();
  /** The number of pending counters of each user who has any. */
  readonly #pendingOf = new Map<UserId, number>();

  constructor(now: Date) {
    this.#hour = hourOf(now);
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  count(key: CountedKey, workspaceId: WorkspaceId | undefined, outcome: Outcome): void {
    const counter =
      this.#index.get(key.keyId)?.get(workspaceId)?.get(outcome) ?? this.#add(key, workspaceId, outcome);
    if (counter.count === 0) {
      const ofUser = this.#pendingOf.get(counter.userId) ?? 0;
      if (this.#pending.size >= maxPending || ofUser >= maxPendingPerUser) return;
      this.#pending.add(counter);
      this.#pendingOf.set(counter.userId, ofUser + 1);
    }
    counter.count += 1;
  }

  /** Counts later requests in the hour of this time. */
  setHour(now: Date): void {
    const hour = hourOf(now);
    if (hour.getTime() === this.#hour.getTime()) return;
    this.#hour = hour;
    this.#forget();
  }

  /** The counts that have waited longest. */
  take(limit: number): PendingCount[] {
    return this.#pending
      .values()
      .take(limit)
      .map((counter) => {
        const { keyId, hour, workspaceId, outcome, count } = counter;
        return { keyId, hour, workspaceId, outcome, count, counter };
      })
      .toArray();
  }

  /**
   * Subtracts what has been written. A counter that has counted more requests in the meantime waits again, behind the
   * others.
   */
  settle(taken: readonly PendingCount[]): void {
    for (const { counter, count } of taken) {
      counter.count -= count;
      this.#pending.delete(counter);
      if (counter.count > 0) this.#pending.add(counter);
      else this.#release(counter.userId);
    }
  }

  #release(userId: UserId): void {
    const left = (this.#pendingOf.get(userId) ?? 0) - 1;
    if (left > 0) this.#pendingOf.set(userId, left);
    else this.#pendingOf.delete(userId);
  }

  #add({ keyId, userId }: CountedKey, workspaceId: WorkspaceId | undefined, outcome: Outcome): Counter {
    if (this.#indexed >= maxIndexed) this.#forget();
    const workspaces = this.#index.get(keyId) ?? new Map<WorkspaceId | undefined, Map<Outcome, Counter>>();
    const outcomes = workspaces.get(workspaceId) ?? new Map<Outcome, Counter>();
    const counter = { keyId, userId, hour: this.#hour, workspaceId: workspaceId ?? null, outcome, count: 0 };
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
