import type { KeyId } from "@latchkey/db/ids";
import type { KeyRejection } from "@latchkey/db/key-history";
import { redactKeys } from "../redact-keys.ts";

export interface LoggedRejection extends KeyRejection {
  readonly keyId: KeyId;
}

const maxPerKey = 100;
const maxRejections = 5_000;
/** When there is no room, this many keys are compared, and the one with the most entries loses its oldest. */
const comparedKeys = 8;
const maxPathLength = 500;
/** Longer than any method, address or request ID that the product accepts. */
const maxWordLength = 200;

/**
 * Keeps rejected requests until they are written.
 *
 * Memory is bounded: the latest 100 per key, and 5,000 in total, about 1 kB each. When the log is full, a key with many
 * entries loses its oldest for a new one, so that a flood of rejected requests with some keys doesn't displace the only
 * one of another key. Paths are cut at 500 characters, everything else at 200.
 */
export class RejectionLog {
  readonly #keys = new Map<KeyId, LoggedRejection[]>();
  #size = 0;

  get pendingCount(): number {
    return this.#size;
  }

  add(rejection: LoggedRejection): void {
    const entries = this.#keys.get(rejection.keyId) ?? [];
    if (entries.length >= maxPerKey) this.#dropOldest(rejection.keyId, entries);
    else if (this.#size >= maxRejections) this.#makeRoom();
    const { address, method, path, requestId } = rejection;
    entries.push({
      ...rejection,
      address: address && sanitize(address, maxWordLength),
      method: sanitize(method, maxWordLength),
      path: sanitize(path, maxPathLength),
      requestId: sanitize(requestId, maxWordLength),
    });
    this.#keys.set(rejection.keyId, entries);
    this.#size += 1;
  }

  /**
   * Drops the oldest entry of the key with the most entries among the next few keys. Comparing all keys would take too
   * long for each rejected request of a flood.
   */
  #makeRoom(): void {
    const next = [...this.#keys.entries().take(comparedKeys)];
    const [first] = next.toSorted(([, one], [, other]) => other.length - one.length);
    for (const [keyId, entries] of next) {
      this.#keys.delete(keyId);
      this.#keys.set(keyId, entries);
    }
    if (first) this.#dropOldest(...first);
  }

  #dropOldest(keyId: KeyId, entries: LoggedRejection[]): void {
    entries.shift();
    this.#size -= 1;
    if (entries.length === 0) this.#keys.delete(keyId);
  }

  /** Returns everything that is to be written. */
  take(): LoggedRejection[] {
    return [...this.#keys.values()].flat();
  }

  /** Removes what has been written. */
  settle(taken: readonly LoggedRejection[]): void {
    const written = new Set(taken);
    for (const [keyId, entries] of this.#keys) {
      const left = entries.filter((rejection) => !written.has(rejection));
      if (left.length > 0) this.#keys.set(keyId, left);
      else this.#keys.delete(keyId);
      this.#size -= entries.length - left.length;
    }
  }
}

/**
 * Returns a text that Postgres accepts: without NUL, of bounded length, and with API keys redacted, because people
 * paste them.
 */
function sanitize(text: string, maxLength: number): string {
  const clean = redactKeys(text.replaceAll("\0", ""));
  // Copies the text through a buffer, because a slice would keep the whole original string in memory.
  return Buffer.from(clean.slice(0, maxLength)).toString();
}
