import type { WorkspaceId } from "@latchkey/db/ids";
import { haveSameVersions, type KeyFacts, type Membership } from "./decision.ts";

/** Facts to which the memberships of further workspaces are added while the versions stay the same. */
interface CachedFacts extends KeyFacts {
  readonly memberships: Map<WorkspaceId, Membership>;
  /** How often the cache had been invalidated when they were added. */
  readonly epoch: number;
}

/**
 * Facts of allowed keys, by digest. When the cache is full, the key that was added first is removed first, because tracking
 * the latest use would cost time on every request. Cached facts alone never admit a request: the statement counts a
 * use only if the cached versions are those in the database.
 */
export class FactsCache {
  readonly #facts = new Map<string, CachedFacts>();
  readonly #capacity: number;
  /** The number of keys plus the number of memberships. */
  #size = 0;
  /** How often the cache has been invalidated. */
  #epoch = 0;

  /** @param capacity the maximum number of keys plus memberships. A key takes about 400 bytes, a membership about 150. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(digest: string): KeyFacts | undefined {
    const facts = this.#facts.get(digest);
    return facts?.epoch === this.#epoch ? facts : undefined;
  }

  /** Whether the key was allowed once, even if its facts are from before an invalidation. */
  has(digest: string): boolean {
    return this.#facts.has(digest);
  }

  /** Returns facts even if they are from before an invalidation. */
  peek(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Invalidates all facts. The next request with each key reads the key again. */
  invalidate(): void {
    this.#epoch += 1;
  }

  /** Adds the memberships to the cached facts if the versions are the same; otherwise replaces the facts. */
  set(digest: string, facts: KeyFacts): void {
    const known = this.#facts.get(digest);
    if (known?.epoch === this.#epoch && haveSameVersions(known, facts)) {
      this.#size -= known.memberships.size;
      for (const [workspaceId, membership] of facts.memberships)
        known.memberships.set(workspaceId, membership);
      this.#size += known.memberships.size;
    } else {
      this.delete(digest);
      this.#facts.set(digest, { ...facts, memberships: new Map(facts.memberships), epoch: this.#epoch });
      this.#size += 1 + facts.memberships.size;
    }
    for (const oldest of this.#facts.keys()) {
      if (this.#size <= this.#capacity) return;
      this.delete(oldest);
    }
  }

  delete(digest: string): void {
    const known = this.#facts.get(digest);
    if (!known) return;
    this.#size -= 1 + known.memberships.size;
    this.#facts.delete(digest);
  }
}
