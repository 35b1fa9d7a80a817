import type { WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import type { KeyFacts } from "./judge.ts";

/** Facts that gain roles, one workspace after the other, for as long as the version stays what it is. */
interface Remembered extends KeyFacts {
  readonly roles: Map<WorkspaceId, Role>;
}

/**
 * The facts of keys that were admitted, by digest; past its capacity the first one remembered goes first, since to
 * keep track of the latest use would cost every request. Remembering is no permission: the statement spends
 * only where the version remembered is still the one in the database.
 */
export class FactsMemory {
  readonly #facts = new Map<string, Remembered>();
  readonly #capacity: number;
  /** Keys, and roles of their users. */
  #size = 0;

  /** @param capacity how many keys, and roles in workspaces, to remember at most: about 400 and 100 bytes each. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  recall(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Adds what was learned to what is known at the same version; anything older is forgotten. */
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
