import type { KeyFacts } from "./judge.ts";

/**
 * The facts of keys that were admitted, by digest; past its capacity the first one remembered goes first, since to
 * keep track of the latest use would cost every request. Remembering is no permission: the statement spends
 * only where the version remembered is still the one in the database.
 */
export class FactsMemory {
  readonly #facts = new Map<string, KeyFacts>();
  readonly #capacity: number;

  /** @param capacity how many keys to remember at most; at about 400 bytes each. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  recall(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  remember(digest: string, facts: KeyFacts): void {
    if (this.#facts.size >= this.#capacity && !this.#facts.has(digest)) this.#forgetOldest();
    this.#facts.set(digest, facts);
  }

  forget(digest: string): void {
    this.#facts.delete(digest);
  }

  #forgetOldest(): void {
    const oldest = this.#facts.keys().next();
    if (!oldest.done) this.#facts.delete(oldest.value);
  }
}
