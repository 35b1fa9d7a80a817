import type { WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import type { KeyFacts } from "./judge.ts";

/** Facts that gain roles, one workspace after the other, for as long as the version stays what it is. */
interface Remembered extends KeyFacts {
  readonly roles: Map<WorkspaceId, Role>;
}

/** Past this many workspaces of one key its roles are learned anew. */
const maxRoles = 1_000;

/**
 * The facts of keys that were admitted, by digest; past its capacity the first one remembered goes first, since to
 * keep track of the latest use would cost every request. Remembering is no permission: the statement spends
 * only where the version remembered is still the one in the database.
 */
export class FactsMemory {
  readonly #facts = new Map<string, Remembered>();
  readonly #capacity: number;

  /** @param capacity how many keys to remember at most; at about 400 bytes each. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  recall(digest: string): KeyFacts | undefined {
    return this.#facts.get(digest);
  }

  /** Adds what was learned to what is known at the same version; anything older is forgotten. */
  remember(digest: string, facts: KeyFacts): void {
    const known = this.#facts.get(digest);
    if (known?.version === facts.version && known.roles.size < maxRoles) {
      for (const [workspaceId, role] of facts.roles) known.roles.set(workspaceId, role);
      return;
    }
    if (!known && this.#facts.size >= this.#capacity) this.#forgetOldest();
    this.#facts.set(digest, { ...facts, roles: new Map(facts.roles) });
  }

  forget(digest: string): void {
    this.#facts.delete(digest);
  }

  #forgetOldest(): void {
    const oldest = this.#facts.keys().next();
    if (!oldest.done) this.#facts.delete(oldest.value);
  }
}
