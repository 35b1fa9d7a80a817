import type { KeyId } from "@latchkey/db/ids";
import { mintWorkspaceScope } from "@latchkey/db/mint-workspace-scope";
import type { WorkspaceAccess } from "../workspace-access.ts";
import type { Demand, KeyFacts } from "./judge.ts";
import type { Ask, Probe } from "./statement.ts";
import type { Verdict } from "./verdict.ts";

/** A request that has no verdict yet. */
export interface Waiter {
  /** Whether the node knew its key when it came. */
  readonly wasKnown: boolean;
  readonly digest: string;
  readonly demand: Demand | undefined;
  readonly arrivedAt: number;
  readonly answer: (verdict: Verdict) => void;
  /** What the node believes of its key, and judged it by; undefined for a key that it must look up. */
  facts: KeyFacts | undefined;
  isAnswered: boolean;
}

/** The requests of one key that a statement is to count, by the facts they were judged by. */
export interface Spending {
  readonly facts: KeyFacts;
  readonly waiters: Waiter[];
}

/** The requests that need to know the same of the same key. */
export interface Probing {
  readonly probe: Probe;
  readonly waiters: Waiter[];
}

/** What one statement takes: uses to count, by key, and what to look up. */
export interface Batch {
  readonly spending: Map<KeyId, Spending>;
  readonly probing: Map<string, Probing>;
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
    const { facts } = waiter;
    if (!facts) {
      addProbe(apart.probing, waiter);
      continue;
    }
    const spending = setApart.has(facts.keyId) ? apart.spending : together;
    const others = spending.get(facts.keyId);
    // Counted by one version of the facts, and judged by another? It must be looked up.
    if (others && others.facts.version !== facts.version) addProbe(apart.probing, waiter);
    else if (others) others.waiters.push(waiter);
    else spending.set(facts.keyId, { facts, waiters: [waiter] });
  }
  return { together, apart };
}

function addProbe(probing: Batch["probing"], waiter: Waiter): void {
  const { digest, demand } = waiter;
  const name = demand ? digest + demand.workspaceId : digest;
  const others = probing.get(name);
  if (others) others.waiters.push(waiter);
  else probing.set(name, { probe: { digest, workspaceId: demand?.workspaceId }, waiters: [waiter] });
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
  return [...spending.values(), ...probing.values()].flatMap(({ waiters }) => waiters);
}

/** What a request may do in the workspace it asked for. Its facts were judged by its demand, and have just held. */
export function openWorkspace({ facts, demand }: Waiter): WorkspaceAccess | undefined {
  const role = demand && facts?.roles.get(demand.workspaceId);
  return facts && role && { scope: mintWorkspaceScope(demand.workspaceId), userId: facts.userId, role };
}
