import type { UserId, WorkspaceId } from "@latchkey/db/ids";

/** What requests are counted for, such as a key. */
export interface CountedSubject {
  readonly id: string;
  /** Who may use only a part of the memory: the user or workspace that the subject belongs to. */
  readonly owner: UserId | WorkspaceId;
}

interface Counter<Subject, Group, Outcome> {
  readonly subject: Subject;
  readonly hour: Date;
  readonly group: Group;
  readonly outcome: Outcome;
  /** Requests that were counted and not written yet. */
  count: number;
}

/** The part of a counter that is to be written. */
export interface PendingCount<Subject, Group, Outcome> extends Readonly<Counter<Subject, Group, Outcome>> {
  readonly counter: Counter<Subject, Group, Outcome>;
}

/** The bounds of the memory of {@link HourCounters}. */
export interface CounterBounds<Group> {
  /** The most counters that wait to be written, and the most in the index, about 200 bytes each. */
  readonly maxPending: number;
  /** The most counters of one owner that wait to be written. */
  readonly maxPendingPerOwner: number;
  /** The most groups of a subject in an hour. Requests of others are counted in the group `other`. */
  readonly groups?: { readonly max: number; readonly other: Group };
}

/** An owner can use a tenth of the total, which takes three writes. */
const defaultBounds = { maxPending: 50_000, maxPendingPerOwner: 5_000 } as const;

/**
 * Counts requests by subject, hour, group (such as a workspace) and outcome until they are written. Writing a count
 * subtracts it from its counter, so a count that can't be written stays and keeps growing.
 *
 * Memory is bounded. A request that would need one more pending counter than allowed is not counted. An owner can have
 * many subjects and groups, so each owner may use only a part of the pending counters, and the requests of other owners
 * are still counted. The index, which finds the counter of a request, is cleared when the hour changes and when it is
 * full. Counters that wait are kept separately, so nothing is lost.
 */
export class HourCounters<Subject extends CountedSubject, Group, Outcome extends string> {
  readonly #bounds: CounterBounds<Group>;
  #hour: Date;
  #index = new Map<string, Map<Group, Map<Outcome, Counter<Subject, Group, Outcome>>>>();
  #indexed = 0;
  /** Counters with requests to write, in the order in which they started to wait. */
  readonly #pending = new Set<Counter<Subject, Group, Outcome>>();
  /** The number of pending counters of each owner that has any. */
  readonly #pendingOf = new Map<CountedSubject["owner"], number>();

  constructor(now: Date, bounds: CounterBounds<Group> = defaultBounds) {
    this.#bounds = bounds;
    this.#hour = hourOf(now);
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Counts a request. Returns false if its counter didn't fit, so that it was not counted. */
  count(subject: Subject, group: Group, outcome: Outcome): boolean {
    const counter =
      this.#index.get(subject.id)?.get(group)?.get(outcome) ?? this.#add(subject, group, outcome);
    if (counter.count === 0) {
      const { owner } = counter.subject;
      const ofOwner = this.#pendingOf.get(owner) ?? 0;
      const { maxPending, maxPendingPerOwner } = this.#bounds;
      if (this.#pending.size >= maxPending || ofOwner >= maxPendingPerOwner) return false;
      this.#pending.add(counter);
      this.#pendingOf.set(owner, ofOwner + 1);
    }
    counter.count += 1;
    return true;
  }

  /** Counts later requests in the hour of this time. */
  setHour(now: Date): void {
    const hour = hourOf(now);
    if (hour.getTime() === this.#hour.getTime()) return;
    this.#hour = hour;
    this.#forget();
  }

  /** The counts that have waited longest. */
  take(limit: number): PendingCount<Subject, Group, Outcome>[] {
    return this.#pending
      .values()
      .take(limit)
      .map((counter) => ({ ...counter, counter }))
      .toArray();
  }

  /**
   * Subtracts what has been written. A counter that has counted more requests in the meantime waits again, behind the
   * others.
   */
  settle(taken: readonly PendingCount<Subject, Group, Outcome>[]): void {
    for (const { counter, count } of taken) {
      counter.count -= count;
      this.#pending.delete(counter);
      if (counter.count > 0) this.#pending.add(counter);
      else this.#release(counter.subject.owner);
    }
  }

  #release(owner: CountedSubject["owner"]): void {
    const left = (this.#pendingOf.get(owner) ?? 0) - 1;
    if (left > 0) this.#pendingOf.set(owner, left);
    else this.#pendingOf.delete(owner);
  }

  /** Finds or adds the counter of a group, or of the other groups if the subject has too many. */
  #add(subject: Subject, requested: Group, outcome: Outcome): Counter<Subject, Group, Outcome> {
    if (this.#indexed >= this.#bounds.maxPending) this.#forget();
    const groups =
      this.#index.get(subject.id) ?? new Map<Group, Map<Outcome, Counter<Subject, Group, Outcome>>>();
    const { groups: limit } = this.#bounds;
    const group = limit && groups.size >= limit.max && !groups.has(requested) ? limit.other : requested;
    const outcomes = groups.get(group) ?? new Map<Outcome, Counter<Subject, Group, Outcome>>();
    const known = outcomes.get(outcome);
    if (known) return known;
    const counter = { subject, hour: this.#hour, group, outcome, count: 0 };
    this.#index.set(subject.id, groups.set(group, outcomes.set(outcome, counter)));
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
