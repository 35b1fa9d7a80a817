import type { KeyId } from "@latchkey/db/ids";

interface Note {
  readonly keyId: KeyId;
  readonly text: string;
  /** In milliseconds since 1970. */
  at: number;
}

/** What is to be written of a note. */
export interface TakenNote {
  readonly note: Note;
  readonly keyId: KeyId;
  readonly text: string;
  readonly at: Date;
}

const goodForMs = 60_000;
/** Of a key no more than its latest so many are known and written. */
const maxOfKey = 5;
/** So many keys are known, about 1 kB each at most. */
const maxKeys = 20_000;
/** So many notes may wait to be written. */
const maxWaiting = 20_000;

/**
 * Notes what was seen with a key, good to a minute: what is seen again within a minute after it was noted is not noted
 * again.
 *
 * Bounded: a key has its five latest notes. When too many keys are known, all are forgotten; what waits to be written
 * stays, and what is seen again is noted once more. While too many notes wait, no other is made; what is seen once
 * there is room is noted then.
 */
export class MinuteNotes {
  #keys = new Map<KeyId, Map<string, Note>>();
  /** Those to be written, in the order in which they were made. */
  readonly #waiting = new Set<Note>();

  get waiting(): number {
    return this.#waiting.size;
  }

  /** @param nowMs in milliseconds since 1970. */
  note(keyId: KeyId, text: string, nowMs: number): void {
    const known = this.#keys.get(keyId)?.get(text);
    if (known && nowMs - known.at < goodForMs) return;
    this.#renew(keyId, known ?? { keyId, text, at: nowMs }, nowMs);
  }

  /** What is to be written of those that have waited longest. */
  take(atMost: number): TakenNote[] {
    return this.#waiting
      .values()
      .take(atMost)
      .map((note) => ({ note, keyId: note.keyId, text: note.text, at: new Date(note.at) }))
      .toArray();
  }

  /** Drops what has been written, but for what was seen again meanwhile. */
  settle(taken: readonly TakenNote[]): void {
    for (const { note, at } of taken) if (note.at === at.getTime()) this.#waiting.delete(note);
  }

  #renew(keyId: KeyId, note: Note, nowMs: number): void {
    if (this.#waiting.size >= maxWaiting && !this.#waiting.has(note)) return;
    if (this.#keys.size >= maxKeys && !this.#keys.has(keyId)) this.#keys = new Map();
    const notes = this.#keys.get(keyId) ?? new Map<string, Note>();
    this.#keys.set(keyId, notes);
    // The latest stands last.
    notes.delete(note.text);
    for (const oldest of notes.values()) {
      if (notes.size < maxOfKey) break;
      notes.delete(oldest.text);
      this.#waiting.delete(oldest);
    }
    note.at = nowMs;
    notes.set(note.text, note);
    this.#waiting.add(note);
  }
}
