import type { KeyId } from "@latchkey/db/ids";

interface Sighting {
  readonly keyId: KeyId;
  readonly text: string;
  /** In milliseconds since 1970. */
  at: number;
}

/** The state of a sighting that is to be written. */
export interface PendingSighting {
  readonly sighting: Sighting;
  readonly keyId: KeyId;
  readonly text: string;
  readonly at: Date;
}

const intervalMs = 60_000;
/** The most sightings of a key that are remembered and written: its latest ones. */
const maxPerKey = 5;
/** The most keys that are remembered, about 1 kB each at most. */
const maxKeys = 20_000;
/** The most sightings that wait to be written. */
const maxPending = 20_000;

/**
 * Records the values that were seen with a key, such as IP addresses, accurate to one minute: a text that is seen again within a minute is not
 * recorded again.
 *
 * Memory is bounded. A key has its five latest sightings. When too many keys are remembered, all of them are forgotten.
 * Pending sightings stay, and a text that is seen again is recorded once more. While too many sightings are pending, no new
 * one is created. A text that is seen again when there is room is recorded then.
 */
export class LastSeenRecorder {
  #keys = new Map<KeyId, Map<string, Sighting>>();
  /** Sightings to be written, in the order in which they were made. */
  readonly #pending = new Set<Sighting>();

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** @param nowMs in milliseconds since 1970. */
  record(keyId: KeyId, text: string, nowMs: number): void {
    const known = this.#keys.get(keyId)?.get(text);
    if (known && nowMs - known.at < intervalMs) return;
    this.#renew(keyId, known ?? { keyId, text, at: nowMs }, nowMs);
  }

  /** The sightings that have waited longest. */
  take(limit: number): PendingSighting[] {
    return this.#pending
      .values()
      .take(limit)
      .map((sighting) => ({
        sighting,
        keyId: sighting.keyId,
        text: sighting.text,
        at: new Date(sighting.at),
      }))
      .toArray();
  }

  /** Removes what has been written, except sightings of texts that were seen again in the meantime. */
  settle(taken: readonly PendingSighting[]): void {
    for (const { sighting, at } of taken) if (sighting.at === at.getTime()) this.#pending.delete(sighting);
  }

  #renew(keyId: KeyId, sighting: Sighting, nowMs: number): void {
    if (this.#pending.size >= maxPending && !this.#pending.has(sighting)) return;
    if (this.#keys.size >= maxKeys && !this.#keys.has(keyId)) this.#keys = new Map();
    const sightings = this.#keys.get(keyId) ?? new Map<string, Sighting>();
    this.#keys.set(keyId, sightings);
    // Keeps the latest sighting last.
    sightings.delete(sighting.text);
    for (const oldest of sightings.values()) {
      if (sightings.size < maxPerKey) break;
      sightings.delete(oldest.text);
      this.#pending.delete(oldest);
    }
    sighting.at = nowMs;
    sightings.set(sighting.text, sighting);
    this.#pending.add(sighting);
  }
}
