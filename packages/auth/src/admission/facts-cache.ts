import type { WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import type { KeyFacts } from "./decision.ts";

/** Facts to which the roles of further workspaces are added while the version stays the same. */
interface CachedFacts extends KeyFacts {
  readonly roles: Map<WorkspaceId, Role>;
}

/**
 * Facts of allowed keys, by digest. When the cache is full, the key that was added first is removed first, because tracking
 * the latest use would cost time on every request. Cached facts alone never admit a request: the statement counts a
 * use only if the cached version is the one in the database.
 */
export class FactsCache {
  readonly #facts = new Map<string, CachedFacts>();
  readonly #capacity: number;
  /** The number of keys plus the number of roles. */
  #size = 0;

  /** @param capacity the maximum number of keys plus roles. A key takes about 400 bytes, a role about 100. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Adds the roles to the cached facts if the version is the same; otherwise replaces the facts. */
  set(digest: string, facts: KeyFacts): void {
    const known = this.#facts.get(digest);
    if (known?.version === facts.version) {
      this.#size -= known.roles.size;
      for (const [workspaceId, role] of facts.roles) known.roles.set(workspaceId, role);
      this.#size += known.roles.size;
    } else {
      this.delete(digest);
      this.#facts.set(digest, { ...facts, roles: new Map(facts.roles) });
      this.#size += 1 + facts.roles.size;
    }
    for (const oldest of this.#facts.keys()) {
      if (this.#size <= this.#capacity) return;
      this.delete(oldest);
    }
  }

  delete(digest: string): void {
    const known = this.#facts.get(digest);
    if (!known) return;
    this.#size -= 1 + known.roles.size;
    this.#facts.delete(digest);
  }
}
