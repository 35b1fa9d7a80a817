/** What the calls of one batch may cost in total. A call costs 1, unless its procedure has an entry below. */
export const maxBatchCost = 10;

/**
 * Procedures that search, aggregate or hash a password. A batch takes at most two of those that cost 5, and one that
 * checks a password by itself, so that attempts to guess one are as many as requests.
 */
const costs: ReadonlyMap<string, number> = new Map([
  ["apiKeys.list", 5],
  ["audit.list", 5],
  ["keyHistory.evaluate", 5],
  ["keyHistory.tryOut", 5],
  ["keyHistory.usage", 5],
  ["keyHistory.usageInBuckets", 5],
  ["members.list", 5],
  ["overview.keys", 5],
  ["overview.usage", 5],
  ["session.signIn", maxBatchCost],
  ["session.signUp", maxBatchCost],
  ["workspaceKeys.list", 5],
]);

/** What one call of a procedure costs. This file runs in the browser too, where the client composes batches by it. */
export function batchCostOf(path: string): number {
  return costs.get(path) ?? 1;
}
