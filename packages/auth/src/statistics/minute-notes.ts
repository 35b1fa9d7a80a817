import type { KeyId } from "@latchkey/db/ids";

interface Note {
  readonly keyId: KeyId;
  readonly text: string;
  /** In milliseconds since 1970. */
  at: number;
}

/** The state of a note that is to be written. */
export interface TakenNote {
  readonly note: Note;
  readonly keyId: KeyId;
  readonly text: string;
  readonly at: Date;
}

const intervalMs = 60_000;
/** The most notes of a key that are remembered and written: its latest ones. */
const maxPerKey = 5;
/** The most keys that are remembered, about 1 kB each at most. */
const maxKeys = 20_000;
/** The most notes that wait to be written. */
const maxWaiting = 20_000;

/**
 * Records texts that were seen with a key, accurate to one minute: a text that is seen again within a minute is not
 * recorded again.
 *
 * Memory is bounded. A key has its five latest notes. When too many keys are remembered, all of them are forgotten.
 * Notes that wait to be written stay, and a text that is seen again is recorded once more. While too many notes wait,
 * no new one is made. A text that is seen again when there is room is recorded then.
 */
export class MinuteNotes {
  #keys = new Map<KeyId, Map<string, Note>>();
  /** Notes to be written, in the order in which they were made. */
  readonly #waiting = new Set<Note>();

  get waiting(): number {
    return this.#waiting.size;
  }

  /** @param nowMs in milliseconds since 1970. */
  note(keyId: KeyId, text: string, nowMs: number): void {
    const known = this.#keys.get(keyId)?.get(text);
    if (known && nowMs - known.at < intervalMs) return;
    this.#renew(keyId, known ?? { keyId, text, at: nowMs }, nowMs);
  }

  /** The notes that have waited longest. */
  take(limit: number): TakenNote[] {
    return this.#waiting
      .values()
      .take(limit)
      .map((note) => ({ note, keyId: note.keyId, text: note.text, at: new Date(note.at) }))
      .toArray();
  }

  /** Removes what has been written, except notes of texts that were seen again in the meantime. */
  settle(taken: readonly TakenNote[]): void {
    for (const { note, at } of taken) if (note.at === at.getTime()) this.#waiting.delete(note);
  }

  #renew(keyId: KeyId, note: Note, nowMs: number): void {
    if (this.#waiting.size >= maxWaiting && !this.#waiting.has(note)) return;
    if (this.#keys.size >= maxKeys && !this.#keys.has(keyId)) this.#keys = new Map();
    const notes = this.#keys.get(keyId) ?? new Map<string, Note>();
    this.#keys.set(keyId, notes);
    // Keeps the latest note last.
    notes.delete(note.text);
    for (const oldest of notes.values()) {
      if (notes.size < maxPerKey) break;
      notes.delete(oldest.text);
      this.#waiting.delete(oldest);
    }
    note.at = nowMs;
    notes.set(note.text, note);
    this.#waiting.add(note);
  }
}
