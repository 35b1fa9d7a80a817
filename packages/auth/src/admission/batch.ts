import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { mintWorkspaceScope } from "@latchkey/db/mint-workspace-scope";
import type { WorkspaceAccess } from "../workspace-access.ts";
import type { Ask } from "./ask.ts";
import type { Demand, KeyFacts } from "./judge.ts";
import type { Probe } from "./statement.ts";
import type { Verdict } from "./verdict.ts";

/** A request as it comes. */
export interface Incoming {
  readonly digest: string;
  readonly demand: Demand | undefined;
  readonly address: string | undefined;
  /** What the node believes of its key, and judged it by; undefined for a key that it must look up. */
  readonly facts: KeyFacts | undefined;
}

/** No key has it, so that asking for it reads the database and changes nothing. */
export const requestOfNoKey: Incoming = {
  digest: Buffer.alloc(32).toString("base64"),
  demand: undefined,
  address: undefined,
  facts: undefined,
};

/** A request that has no verdict yet. */
export interface Waiter extends Incoming {
  /** Whether the node knew its key when it came. */
  readonly wasKnown: boolean;
  readonly arrivedAt: number;
  readonly answer: (verdict: Verdict) => void;
  /** Gone when its version has moved, and there when it has been looked up. */
  facts: KeyFacts | undefined;
  /** Whether another transaction has held what it needs. */
  wasHeld: boolean;
  isAnswered: boolean;
}

/** The requests with one secret of a key that a statement is to count, by the facts they were judged by. */
export interface Spending {
  readonly digest: string;
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
 * keys set apart, so that nobody else waits for them, and the first uses of new secrets, which are marked as used there. `later` are those with another secret of a key that is counted
 * now: a statement counts a key once.
 */
export function composeBatches(
  waiters: readonly Waiter[],
  setApart: ReadonlySet<KeyId>,
): { readonly together: Batch["spending"]; readonly apart: Batch; readonly later: readonly Waiter[] } {
  const together: Batch["spending"] = new Map();
  const apart: Batch = { spending: new Map(), probing: new Map() };
  const later: Waiter[] = [];
  for (const waiter of waiters) {
    if (waiter.isAnswered) continue;
    const { facts } = waiter;
    if (!facts) {
      addProbe(apart.probing, waiter);
      continue;
    }
    const spending = facts.isUnusedSecret || setApart.has(facts.keyId) ? apart.spending : together;
    const others = spending.get(facts.keyId);
    // Counted by one version of the facts, and judged by another? It must be looked up.
    if (others && others.facts.version !== facts.version) addProbe(apart.probing, waiter);
    else if (others && others.digest !== waiter.digest) later.push(waiter);
    else if (others) others.waiters.push(waiter);
    else spending.set(facts.keyId, { digest: waiter.digest, facts, waiters: [waiter] });
  }
  return { together, apart, later };
}

function addProbe(probing: Batch["probing"], waiter: Waiter): void {
  const { digest } = waiter;
  const workspaceId = workspaceOf(waiter);
  const name = workspaceId ? digest + workspaceId : digest;
  const others = probing.get(name);
  if (others) others.waiters.push(waiter);
  else probing.set(name, { probe: { digest, workspaceId }, waiters: [waiter] });
}

/** What a statement is told of the uses that it is to count. */
export function listAsks(spending: Batch["spending"]): Ask[] {
  const asks: Ask[] = [];
  for (const { facts, waiters } of spending.values()) {
    const { keyId, version, goodUntil, limit } = facts;
    asks.push({ keyId, uses: waiters.length, version, goodUntil, limit });
  }
  return asks;
}

/** The keys of which a statement is to count the first use of a new secret. */
export function listFirstUses(spending: Batch["spending"]): KeyId[] {
  return [...spending.values()].flatMap(({ facts }) => (facts.isUnusedSecret ? [facts.keyId] : []));
}

export function listWaiters({ spending, probing }: Batch): Waiter[] {
  return [...spending.values(), ...probing.values()].flatMap(({ waiters }) => waiters);
}

/** What a request may do in the workspace it asked for. Its facts were judged by its demand, and have just held. */
export function openWorkspace(waiter: Waiter): WorkspaceAccess | undefined {
  const { facts } = waiter;
  const workspaceId = workspaceOf(waiter);
  const role = workspaceId && facts?.roles.get(workspaceId);
  return facts && role && { scope: mintWorkspaceScope(workspaceId), userId: facts.userId, role };
}

function workspaceOf({ demand }: Waiter): WorkspaceId | undefined {
  return typeof demand === "object" ? demand.workspaceId : undefined;
}
