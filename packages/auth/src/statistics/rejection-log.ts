import { redactKeys } from "../redact-keys.ts";
import { SizeClasses } from "../size-classes.ts";

/** A rejection that waits to be written. */
interface LoggedRejection {
  /** The key that was used. */
  readonly keyId: string;
}

const maxPerKey = 100;
const maxRejections = 5_000;
/** When there is no room, this many keys of an owner are compared, and the one with the most entries loses its oldest. */
const comparedKeys = 8;
const maxPathLength = 500;
/** Longer than any method, IP address or request ID that the product accepts. */
const maxWordLength = 200;

/** The rejections with the keys of one owner, by key, each oldest first. */
interface Share<Rejection> {
  readonly owner: string;
  readonly keys: Map<string, Rejection[]>;
  size: number;
}

/**
 * Keeps rejections until they are written. Texts of a rejection must be short: see {@link toShortText}.
 *
 * Memory is bounded: the latest 100 per key, and 5,000 in total, about 1 kB each. When the log is full, one of
 * the owners with the most entries loses one for a new one: the oldest of a key with many entries. A flood of rejections
 * with some keys then displaces neither those of other owners nor the only one of another key.
 */
export class RejectionLog<Rejection extends LoggedRejection> {
  readonly #shares = new Map<string, Share<Rejection>>();
  readonly #sizeClasses = new SizeClasses<Share<Rejection>>();
  #size = 0;

  get pendingCount(): number {
    return this.#size;
  }

  /** The number of owners that have an entry. */
  get ownerCount(): number {
    return this.#shares.size;
  }

  /** @param owner the user or workspace that the key belongs to. */
  add(owner: string, rejection: Rejection): void {
    const { keyId } = rejection;
    const share = this.#shares.get(owner) ?? { owner, keys: new Map<string, Rejection[]>(), size: 0 };
    const entries = share.keys.get(keyId) ?? [];
    if (entries.length >= maxPerKey) this.#dropOldest(share, keyId, entries);
    else if (this.#size >= maxRejections) this.#makeRoom();
    entries.push(rejection);
    share.keys.set(keyId, entries);
    this.#resize(share, 1);
  }

  /**
   * Drops the oldest entry of the key with the most entries among the next few keys of a large share. Comparing all keys
   * would take too long for each rejection of a flood.
   */
  #makeRoom(): void {
    const share = this.#sizeClasses.findLargest();
    if (!share) return;
    const next = [...share.keys.entries().take(comparedKeys)];
    const [first] = next.toSorted(([, one], [, other]) => other.length - one.length);
    for (const [keyId, entries] of next) {
      share.keys.delete(keyId);
      share.keys.set(keyId, entries);
    }
    if (first) this.#dropOldest(share, ...first);
  }

  #dropOldest(share: Share<Rejection>, keyId: string, entries: Rejection[]): void {
    entries.shift();
    if (entries.length === 0) share.keys.delete(keyId);
    this.#resize(share, -1);
  }

  /** Returns everything that is to be written. */
  take(): Rejection[] {
    return [...this.#shares.values()].flatMap(({ keys }) => [...keys.values()].flat());
  }

  /** Removes what has been written. */
  settle(taken: readonly Rejection[]): void {
    const written = new Set(taken);
    for (const share of this.#shares.values()) {
      for (const [keyId, entries] of share.keys) {
        const left = entries.filter((rejection) => !written.has(rejection));
        if (left.length > 0) share.keys.set(keyId, left);
        else share.keys.delete(keyId);
        this.#resize(share, left.length - entries.length);
      }
    }
  }

  #resize(share: Share<Rejection>, difference: number): void {
    this.#sizeClasses.move(share, { from: share.size, to: share.size + difference });
    share.size += difference;
    this.#size += difference;
    if (share.size === 0) this.#shares.delete(share.owner);
    else this.#shares.set(share.owner, share);
  }
}

/** A word of a rejection, such as a request ID, cut at 200 characters. See {@link toShortText}. */
export function toShortWord(text: string): string {
  return toShortText(text, maxWordLength);
}

/**
 * Returns a text that Postgres accepts: without NUL, of bounded length (500 by default), and with API keys redacted,
 * because people paste them.
 */
export function toShortText(text: string, maxLength = maxPathLength): string {
  const clean = redactKeys(text.replaceAll("\0", ""));
  // Copies the text through a buffer, because a slice would keep the whole original string in memory.
  return Buffer.from(clean.slice(0, maxLength)).toString();
}
