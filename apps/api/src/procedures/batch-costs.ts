/** The maximum total cost of the calls in a batch. A call costs 1, unless its procedure has an entry below. */
export const maxBatchCost = 10;

/**
 * Procedures that search, aggregate or hash a password. A batch can have at most two calls that cost 5. A call that
 * checks a password or a code can't be batched, so the number of guesses equals the number of requests. Neither can a call
 * that reads from the database for a visitor without a session.
 */
const costs: ReadonlyMap<string, number> = new Map([
  ["account.changePassword", maxBatchCost],
  ["account.confirmOpenid", maxBatchCost],
  ["account.confirmPassword", maxBatchCost],
  ["account.deletion", 5],
  ["account.linkOpenid", maxBatchCost],
  ["account.setPassword", maxBatchCost],
  ["account.startOpenid", maxBatchCost],
  ["apiKeys.list", 5],
  ["audit.actors", 5],
  ["audit.list", 5],
  ["audit.previewRetention", 5],
  ["consumers.list", 5],
  ["invitations.list", 5],
  ["invitations.preview", maxBatchCost],
  ["issuedKeyBulk.change", maxBatchCost],
  ["issuedKeyBulk.rotate", maxBatchCost],
  ["issuedKeyImport.importRows", maxBatchCost],
  ["issuedKeys.changes", 5],
  ["issuedKeys.list", 5],
  ["issuedKeys.verify", 5],
  ["keyHistory.evaluate", 5],
  ["keyHistory.tryOut", 5],
  ["keyHistory.usage", 5],
  ["keyHistory.usageInBuckets", 5],
  ["keyspaces.impact", 5],
  ["keyspaces.list", 5],
  ["keyspaces.previewDeletion", 5],
  ["keyspaceUsage.busiest", 5],
  ["keyspaceUsage.consumerUsage", 5],
  ["keyspaceUsage.keyUsage", 5],
  ["keyspaceUsage.keyspaceUses", 5],
  ["keyspaceUsage.recent", 5],
  ["keyspaceUsage.usage", 5],
  ["members.list", 5],
  ["offboarding.preview", 5],
  ["offboarding.previewOwn", 5],
  ["operator.instance", 5],
  ["operator.log", 5],
  ["operator.users", 5],
  ["operator.workspaceReach", 5],
  ["operator.workspaces", 5],
  ["overview.keys", 5],
  ["overview.usage", 5],
  ["overview.verifications", 5],
  ["securityLog.list", 5],
  ["serviceAccounts.keys", 5],
  ["session.enterCode", maxBatchCost],
  ["session.requestResetLink", maxBatchCost],
  ["session.resetAccount", maxBatchCost],
  ["session.resetPassword", maxBatchCost],
  ["session.signIn", maxBatchCost],
  ["session.signInWithOpenid", maxBatchCost],
  ["session.signInWithPasskey", maxBatchCost],
  ["session.signUp", maxBatchCost],
  ["session.signUpInvited", maxBatchCost],
  ["session.startOpenid", maxBatchCost],
  ["workspaceKeys.list", 5],
  ["workspaceKeys.previewPolicy", 5],
]);

/** Returns the cost of one call of a procedure. The web app imports this file too, to compose its batches. */
export function batchCostOf(path: string): number {
  return costs.get(path) ?? 1;
}
