import type { KeyId } from "@latchkey/db/ids";
import type { KeyFacts } from "./judge.ts";
import type { Ask } from "./statement.ts";
import type { Verdict } from "./verdict.ts";

/** A request that has no verdict yet. */
export interface Waiter {
  readonly digest: string;
  readonly arrivedAt: number;
  readonly answer: (verdict: Verdict) => void;
  /** What the node believes of its key; undefined for a key that it must look up. */
  facts: KeyFacts | undefined;
  isAnswered: boolean;
}

/** The requests of one key that a statement is to count, by the facts they were judged by. */
export interface Spending {
  readonly facts: KeyFacts;
  readonly waiters: Waiter[];
}

/** What one statement takes: uses to count, by key, and keys to look up, by digest. */
export interface Batch {
  readonly spending: Map<KeyId, Spending>;
  readonly probing: Map<string, Waiter[]>;
}

/**
 * Sorts requests into what can be counted by remembered facts and what must be looked up. With the latter go the
 * keys set apart, so that nobody else waits for them.
 */
export function composeBatches(
  waiters: readonly Waiter[],
  setApart: ReadonlySet<KeyId>,
): { readonly together: Batch["spending"]; readonly apart: Batch } {
  const together: Batch["spending"] = new Map();
  const apart: Batch = { spending: new Map(), probing: new Map() };
  for (const waiter of waiters) {
    if (waiter.isAnswered) continue;
    const { digest, facts } = waiter;
    if (!facts) {
      const others = apart.probing.get(digest);
      if (others) others.push(waiter);
      else apart.probing.set(digest, [waiter]);
      continue;
    }
    const spending = setApart.has(facts.keyId) ? apart.spending : together;
    const others = spending.get(facts.keyId);
    if (others) others.waiters.push(waiter);
    else spending.set(facts.keyId, { facts, waiters: [waiter] });
  }
  return { together, apart };
}

/** What a statement is told of the uses that it is to count. */
export function listAsks(spending: Batch["spending"]): Ask[] {
  const asks: Ask[] = [];
  for (const { facts, waiters } of spending.values()) {
    asks.push({ keyId: facts.keyId, uses: waiters.length, version: facts.version });
  }
  return asks;
}

export function listWaiters({ spending, probing }: Batch): Waiter[] {
  return [...[...spending.values()].flatMap(({ waiters }) => waiters), ...[...probing.values()].flat()];
}
