import type { WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import type { KeyFacts } from "./decision.ts";

/** Facts to which the roles of further workspaces are added while the version stays the same. */
interface Remembered extends KeyFacts {
  readonly roles: Map<WorkspaceId, Role>;
}

/**
 * Facts of allowed keys, by digest. When the memory is full, the key remembered first is forgotten first, because tracking
 * the latest use would cost time on every request. Remembered facts alone never admit a request: the statement counts a
 * use only if the remembered version is the one in the database.
 */
export class FactsCache {
  readonly #facts = new Map<string, Remembered>();
  readonly #capacity: number;
  /** The number of keys plus the number of roles. */
  #size = 0;

  /** @param capacity the most keys plus roles to remember. A key takes about 400 bytes, a role about 100. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  recall(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Adds the roles to the remembered facts if the version is the same; otherwise replaces the facts. */
  remember(digest: string, facts: KeyFacts): void {
    const known = this.#facts.get(digest);
    if (known?.version === facts.version) {
      this.#size -= known.roles.size;
      for (const [workspaceId, role] of facts.roles) known.roles.set(workspaceId, role);
      this.#size += known.roles.size;
    } else {
      this.forget(digest);
      this.#facts.set(digest, { ...facts, roles: new Map(facts.roles) });
      this.#size += 1 + facts.roles.size;
    }
    for (const oldest of this.#facts.keys()) {
      if (this.#size <= this.#capacity) return;
      this.forget(oldest);
    }
  }

  forget(digest: string): void {
    const known = this.#facts.get(digest);
    if (!known) return;
    this.#size -= 1 + known.roles.size;
    this.#facts.delete(digest);
  }
}
