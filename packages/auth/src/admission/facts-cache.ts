import type { WorkspaceId } from "@latchkey/db/ids";
import { FairCache } from "../fair-cache.ts";
import { sizeOfRestrictions } from "../restrictions.ts";
import { haveSameVersions, type KeyFacts, type Membership } from "./decision.ts";

/** Facts to which the memberships of further workspaces are added while the versions stay the same. */
interface CachedFacts extends KeyFacts {
  readonly memberships: Map<WorkspaceId, Membership>;
}

/**
 * Facts of allowed keys, by digest. When the cache is full, a user with many keys and memberships displaces their own facts, and not
 * those of others (see {@link FairCache}). Cached facts alone never admit a request: the statement counts a use only if the cached
 * versions are those in the database.
 */
export class FactsCache {
  readonly #facts: FairCache<CachedFacts>;

  /**
   * @param capacity the maximum number of keys plus memberships. A key takes about 500 bytes, a membership about 150. Restrictions of a
   *   key count as one more for each 500 bytes.
   */
  constructor(capacity: number) {
    this.#facts = new FairCache(capacity);
  }

  get(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Whether the key was allowed once, even if its facts are from before an invalidation. */
  has(digest: string): boolean {
    return this.#facts.peek(digest) !== undefined;
  }

  /** Returns facts even if they are from before an invalidation. */
  peek(digest: string): KeyFacts | undefined {
    return this.#facts.peek(digest);
  }

  /** Invalidates all facts. The next request with each key reads the key again. */
  invalidate(): void {
    this.#facts.invalidate();
  }

  /** Adds the memberships to the cached facts if the versions are the same; otherwise replaces the facts. */
  set(digest: string, facts: KeyFacts): void {
    const known = this.#facts.get(digest);
    const isSame = known !== undefined && haveSameVersions(known, facts);
    const cached = isSame ? known : { ...facts, memberships: new Map<WorkspaceId, Membership>() };
    for (const [workspaceId, membership] of facts.memberships)
      cached.memberships.set(workspaceId, membership);
    const size = 1 + cached.memberships.size + Math.ceil(sizeOfRestrictions(cached.restrictions) / 500);
    this.#facts.set(digest, cached, { owner: facts.userId, size });
  }

  delete(digest: string): void {
    this.#facts.delete(digest);
  }
}
