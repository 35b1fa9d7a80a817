import type { KeyId } from "@latchkey/db/ids";

interface SeenValue {
  readonly keyId: KeyId;
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
/** The most values that wait to be written. */
const maxPending = 20_000;

/**
 * Records the values that were seen with a key, such as IP addresses, accurate to one minute: a value that is seen again
 * within a minute is not recorded again.
 *
 * Memory is bounded. A key has its five latest values. When too many keys are remembered, all of them are forgotten.
 * Pending values stay, and a value that is seen again is recorded once more. While too many values are pending, no new
 * one is created. A value that is seen again when there is room is recorded then.
 */
export class LastSeenRecorder {
  #keys = new Map<KeyId, Map<string, SeenValue>>();
  /** Values to be written, in the order in which they were seen. */
  readonly #pending = new Set<SeenValue>();

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** @param nowMs in milliseconds since 1970. */
  record(keyId: KeyId, text: string, nowMs: number): void {
    const known = this.#keys.get(keyId)?.get(text);
    if (known && nowMs - known.at < intervalMs) return;
    this.#renew(keyId, known ?? { keyId, text, at: nowMs }, nowMs);
  }

  /** The values that have waited longest. */
  take(limit: number): LastSeenEntry[] {
    return this.#pending
      .values()
      .take(limit)
      .map((value) => ({
        value,
        keyId: value.keyId,
        text: value.text,
        at: new Date(value.at),
      }))
      .toArray();
  }

  /** Removes what has been written, except values that were seen again in the meantime. */
  settle(taken: readonly LastSeenEntry[]): void {
    for (const { value, at } of taken) if (value.at === at.getTime()) this.#pending.delete(value);
  }

  #renew(keyId: KeyId, value: SeenValue, nowMs: number): void {
    if (this.#pending.size >= maxPending && !this.#pending.has(value)) return;
    if (this.#keys.size >= maxKeys && !this.#keys.has(keyId)) this.#keys = new Map();
    const values = this.#keys.get(keyId) ?? new Map<string, SeenValue>();
    this.#keys.set(keyId, values);
    // Keeps the latest value last.
    values.delete(value.text);
    for (const oldest of values.values()) {
      if (values.size < maxPerKey) break;
      values.delete(oldest.text);
      this.#pending.delete(oldest);
    }
    value.at = nowMs;
    values.set(value.text, value);
    this.#pending.add(value);
  }
}
