import type { KeyId, UserId } from "@latchkey/db/ids";

/** A key, and the user that it belongs to. */
interface SeenKey {
  readonly id: KeyId;
  readonly owner: UserId;
}

interface SeenValue {
  readonly key: SeenKey;
  readonly text: string;
  /** In milliseconds since 1970. */
  at: number;
}

/** The state of a seen value that is to be written. */
export interface LastSeenEntry {
  readonly value: SeenValue;
  readonly keyId: KeyId;
  readonly text: string;
  readonly at: Date;
}

const intervalMs = 60_000;
/** The most values of a key that are remembered and written: its latest ones. */
const maxPerKey = 5;
/** The most keys that are remembered, about 1 kB each at most. */
const maxKeys = 20_000;
/** The most values that wait to be written, and the most of them of one owner. */
const maxPending = 20_000;
const maxPendingPerOwner = 2_000;

/**
 * Records the values that were seen with a key, such as IP addresses, accurate to one minute: a value that is seen again
 * within a minute is not recorded again.
 *
 * Memory is bounded. A key has its five latest values. When too many keys are remembered, all of them are forgotten.
 * Pending values stay, and a value that is seen again is recorded once more. While too many values are pending, in total or of
 * the key's owner, no new one is created. A value that is seen again when there is room is recorded then. An owner can have
 * many keys and addresses, so none can use more than a tenth of the total.
 */
export class LastSeenRecorder {
  #keys = new Map<KeyId, Map<string, SeenValue>>();
  /** Values to be written, in the order in which they were seen. */
  readonly #pending = new Set<SeenValue>();
  /** The number of pending values of each owner that has any. */
  readonly #pendingOf = new Map<UserId, number>();

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** @param nowMs in milliseconds since 1970. */
  record(key: SeenKey, text: string, nowMs: number): void {
    const known = this.#keys.get(key.id)?.get(text);
    // A clock that is set back must not keep the value from being recorded until it reaches the old time again.
    if (known && Math.abs(nowMs - known.at) < intervalMs) return;
    this.#renew(known ?? { key, text, at: nowMs }, nowMs);
  }

  /** The values that have waited longest. */
  take(limit: number): LastSeenEntry[] {
    return this.#pending
      .values()
      .take(limit)
      .map((value) => ({
        value,
        keyId: value.key.id,
        text: value.text,
        at: new Date(value.at),
      }))
      .toArray();
  }

  /** Removes what has been written, except values that were seen again in the meantime. */
  settle(taken: readonly LastSeenEntry[]): void {
    for (const { value, at } of taken) if (value.at === at.getTime()) this.#removePending(value);
  }

  #renew(value: SeenValue, nowMs: number): void {
    const { id, owner } = value.key;
    const isPending = this.#pending.has(value);
    const ofOwner = this.#pendingOf.get(owner) ?? 0;
    if (!isPending && (this.#pending.size >= maxPending || ofOwner >= maxPendingPerOwner)) return;
    if (this.#keys.size >= maxKeys && !this.#keys.has(id)) this.#keys = new Map();
    const values = this.#keys.get(id) ?? new Map<string, SeenValue>();
    this.#keys.set(id, values);
    // Keeps the latest value last.
    values.delete(value.text);
    for (const oldest of values.values()) {
      if (values.size < maxPerKey) break;
      values.delete(oldest.text);
      this.#removePending(oldest);
    }
    value.at = nowMs;
    values.set(value.text, value);
    if (isPending) return;
    this.#pending.add(value);
    this.#pendingOf.set(owner, (this.#pendingOf.get(owner) ?? 0) + 1);
  }

  #removePending(value: SeenValue): void {
    if (!this.#pending.delete(value)) return;
    const { owner } = value.key;
    const left = (this.#pendingOf.get(owner) ?? 0) - 1;
    if (left > 0) this.#pendingOf.set(owner, left);
    else this.#pendingOf.delete(owner);
  }
}
