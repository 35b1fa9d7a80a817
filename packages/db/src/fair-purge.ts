import { sql } from "kysely";
import type { WorkspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { type DeleteBatch, type PurgeRound, purgeInRound } from "./purge-round.ts";
import type { Db, Trx } from "./schema.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

/** How many workspaces are listed at once, and then take turns. */
const workspacesPerList = 50;

/** Which workspaces to list. */
export interface WorkspacePage {
  /** The workspace before the first one; undefined for all. */
  readonly after: WorkspaceId | undefined;
  readonly limit: number;
}

/** Rows of workspaces to purge. */
export interface WorkspacePurge {
  /** Lists workspaces with rows to purge in the order of their IDs, in the admission role. */
  readonly listWorkspaces: (trx: Trx, page: WorkspacePage) => Promise<readonly WorkspaceId[]>;
  /** Deletes at most `limit` rows of a workspace. @returns how many. */
  readonly purge: (trx: WorkspaceTrx, scope: WorkspaceScope, limit: number) => Promise<number>;
}

/**
 * Creates a function that deletes at most `limit` rows of workspaces, and gives each of the workspaces that it lists an
 * equal share, so that one with a million rows doesn't delay the others. What a workspace leaves of its share goes to the
 * others, and what all of them leave goes to the next list. Each call continues with the workspaces after those of the
 * previous call. A workspace that can't be purged doesn't delay the others either: it is left to the next round.
 */
export function createFairPurge({ listWorkspaces, purge }: WorkspacePurge): DeleteBatch {
  let after: WorkspaceId | undefined;
  const list = (db: Db) =>
    db.transaction().execute(async (trx) => {
      // Only the admission role sees more than one workspace. The purger has a single connection.
      await sql`set local role latchkey_admission`.execute(trx);
      const following = await listWorkspaces(trx, { after, limit: workspacesPerList });
      if (after === undefined || following.length === workspacesPerList) return following;
      const preceding = await listWorkspaces(trx, { after: undefined, limit: workspacesPerList });
      return [...new Set([...following, ...preceding])].slice(0, workspacesPerList);
    });
  /** Returns how many rows it deleted, 0 for a workspace that can't be purged. */
  const purgeOne = async (db: Db, workspaceId: WorkspaceId, limit: number, round?: PurgeRound) => {
    after = workspaceId;
    // Nothing of these rows can be read anymore, so no permission is needed.
    const scope = mintWorkspaceScope(workspaceId);
    return await purgeInRound(round, workspaceId, () =>
      inWorkspace(db, scope, (trx) => purge(trx, scope, limit)),
    );
  };
  const purgeListed = async (db: Db, listed: readonly WorkspaceId[], limit: number, round?: PurgeRound) => {
    let count = 0;
    // Each pass either spends the limit or removes a workspace, so there are few passes.
    let unfinished = listed.filter((id) => !round?.failures.has(id));
    // Otherwise, the next list would have the same workspaces.
    if (unfinished.length === 0) after = listed.at(-1) ?? after;
    while (unfinished.length > 0 && count < limit) {
      const share = Math.max(1, Math.floor((limit - count) / unfinished.length));
      const remaining: WorkspaceId[] = [];
      for (const workspaceId of unfinished) {
        const wanted = Math.min(share, limit - count);
        if (wanted === 0 || round?.signal.aborted) return count;
        const deleted = await purgeOne(db, workspaceId, wanted, round);
        count += deleted;
        if (deleted === wanted) remaining.push(workspaceId);
      }
      unfinished = remaining;
    }
    return count;
  };
  return async (db, limit, round) => {
    let count = 0;
    // The bound is for workspaces whose rows are all locked, or that can't be purged.
    for (let visited = 0; visited < limit && count < limit; visited += workspacesPerList) {
      const listed = await list(db);
      count += await purgeListed(db, listed, limit - count, round);
      if (listed.length < workspacesPerList || round?.signal.aborted) break;
    }
    return count;
  };
}
