import type { KeyId } from "@latchkey/db/ids";
import type { KeyRefusal } from "@latchkey/db/key-history";
import { redactKeys } from "../redact-keys.ts";

export interface LoggedRefusal extends KeyRefusal {
  readonly keyId: KeyId;
}

const maxOfKey = 100;
const maxRefusals = 5_000;
/** Of how many keys the one with most loses a refusal when there is no room. */
const keysLookedAt = 8;
const maxPathLength = 500;
/** Longer than any method, address or request id that the product lets through. */
const maxWordLength = 200;

/**
 * Keeps refusals until they are written.
 *
 * Bounded: of a key the latest 100, of all together 5,000, about 1 kB each. When all room is taken, a key that has very
 * many loses its oldest for a new one, so that a flood of some keys' refusals does not crowd out another's only one.
 * Paths are cut at 500 characters, everything else at 200.
 */
export class RefusalLog {
  readonly #keys = new Map<KeyId, LoggedRefusal[]>();
  #size = 0;

  get waiting(): number {
    return this.#size;
  }

  add(refusal: LoggedRefusal): void {
    const ofKey = this.#keys.get(refusal.keyId) ?? [];
    if (ofKey.length >= maxOfKey) this.#dropOldest(refusal.keyId, ofKey);
    else if (this.#size >= maxRefusals) this.#makeRoom();
    const { address, method, path, requestId } = refusal;
    ofKey.push({
      ...refusal,
      address: address && keepable(address, maxWordLength),
      method: keepable(method, maxWordLength),
      path: keepable(path, maxPathLength),
      requestId: keepable(requestId, maxWordLength),
    });
    this.#keys.set(refusal.keyId, ofKey);
    this.#size += 1;
  }

  /** Drops one of a key that has many, of the next few keys: to look at all would cost each refusal of a flood too much. */
  #makeRoom(): void {
    const next = [...this.#keys.entries().take(keysLookedAt)];
    const [first] = next.toSorted(([, one], [, other]) => other.length - one.length);
    for (const [keyId, ofKey] of next) {
      this.#keys.delete(keyId);
      this.#keys.set(keyId, ofKey);
    }
    if (first) this.#dropOldest(...first);
  }

  #dropOldest(keyId: KeyId, ofKey: LoggedRefusal[]): void {
    ofKey.shift();
    this.#size -= 1;
    if (ofKey.length === 0) this.#keys.delete(keyId);
  }

  /** All that is to be written. */
  take(): LoggedRefusal[] {
    return [...this.#keys.values()].flat();
  }

  /** Drops what has been written. */
  settle(taken: readonly LoggedRefusal[]): void {
    const written = new Set(taken);
    for (const [keyId, ofKey] of this.#keys) {
      const left = ofKey.filter((refusal) => !written.has(refusal));
      if (left.length > 0) this.#keys.set(keyId, left);
      else this.#keys.delete(keyId);
      this.#size -= ofKey.length - left.length;
    }
  }
}

/** A text that Postgres takes, of bounded size, without a whole key that somebody pasted into it. */
function keepable(text: string, maxLength: number): string {
  const clean = redactKeys(text.replaceAll("\0", ""));
  // By way of a buffer: what is cut off a long string holds on to all of it.
  return Buffer.from(clean.slice(0, maxLength)).toString();
}
