import type { WorkspaceId } from "@latchkey/db/ids";
import { type FoundKeys, listCounterIds } from "./decide-request.ts";
import type { CounterId } from "./decide-verification.ts";

/** How long something is remembered, in milliseconds. */
const isolatedMs = 1_000;
/** The maximum number of remembered names. The oldest is removed first. */
const maxIsolated = 10_000;

/**
 * Remembers the keys, consumers and workspaces that recently kept a batch waiting for a lock or made it fail. Requests about
 * them are decided separately from all others, so that each delays a batch of others at most once per second.
 */
export class Isolation {
  /** When each is forgotten, in the order in which they are. */
  readonly #until = new Map<string, number>();

  /** Isolates something, or keeps it isolated for longer. @param now in milliseconds, by `performance.now()`. */
  add(names: Iterable<string>, now: number): void {
    for (const name of names) {
      this.#until.delete(name);
      this.#until.set(name, now + isolatedMs);
    }
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= maxIsolated) return;
      this.#until.delete(oldest);
    }
  }

  /** Forgets what has not been added for a second. @returns whether nothing is left. */
  isEmpty(now: number): boolean {
    for (const [name, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(name);
    }
    return this.#until.size === 0;
  }

  delete(names: Iterable<string>): void {
    for (const name of names) this.#until.delete(name);
  }

  has(name: string): boolean {
    return this.#until.has(name);
  }
}

/** What a request can be isolated by: its counters, and the workspaces of the keys that it verifies. */
export function listIsolationNames(request: Pick<FoundKeys, "caller" | "targets">): string[] {
  return [...listCounterIds(request), ...listWorkspaceIds(request)];
}

/** The workspaces of the keys that a request verifies, or of those with a counter that meets a condition. */
export function listWorkspaceIds(
  { targets }: Pick<FoundKeys, "targets">,
  condition: (id: CounterId) => boolean = () => true,
): WorkspaceId[] {
  return targets.flatMap((facts) => {
    if (!facts) return [];
    const { keyId, consumer, workspaceId } = facts;
    return condition(keyId) || (consumer && condition(consumer.id)) ? [workspaceId] : [];
  });
}
