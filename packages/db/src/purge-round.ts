import { isDatabaseOutage } from "./database-failure.ts";
import type { WorkspaceId } from "./ids.ts";
import type { Db } from "./schema.ts";

/** One round of a purge rule: the steps until nothing is left, or until the purger goes on with the next rule. */
export interface PurgeRound {
  /** Aborted when the purger closes. */
  readonly signal: AbortSignal;
  /** Why workspaces couldn't be purged. The rule adds them, and leaves them to the next round. */
  readonly failures: Map<WorkspaceId, unknown>;
}

/**
 * Deletes at most `limit` rows.
 * @param round the round that the step belongs to. Without one, a workspace that can't be purged ends the step.
 * @returns how many rows it deleted, or visited for the last time. Fewer than `limit` end the round:
 *   nothing else is due, or the rest is left to the next round.
 */
export type DeleteBatch = (db: Db, limit: number, round?: PurgeRound) => Promise<number>;

/**
 * Purges a workspace. If that fails, the failure is reported after the round, so that it doesn't end the step for the others.
 * @returns how many rows `purge` deleted, 0 if the workspace can't be purged.
 * @throws the failure if it is an outage of the database, or without a round.
 */
export async function purgeInRound(
  round: PurgeRound | undefined,
  workspaceId: WorkspaceId,
  purge: () => Promise<number>,
): Promise<number> {
  try {
    return await purge();
  } catch (error) {
    if (!round || isDatabaseOutage(error)) throw error;
    round.failures.set(workspaceId, error);
    return 0;
  }
}
