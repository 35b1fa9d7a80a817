import { sql } from "kysely";
import type { WorkspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { Db, Trx } from "./schema.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

/** How many workspaces a purge visits in turns. */
const workspacesPerStep = 50;

/** Rows of workspaces to purge. */
export interface WorkspacePurge {
  /** Lists workspaces with rows to purge in the order of their IDs, from the one after `after` on, in the admission role. */
  readonly listWorkspaces: (
    trx: Trx,
    page: { readonly after: WorkspaceId | undefined; readonly limit: number },
  ) => Promise<readonly WorkspaceId[]>;
  /** Deletes at most `limit` rows of a workspace. @returns how many. */
  readonly purge: (trx: WorkspaceTrx, scope: WorkspaceScope, limit: number) => Promise<number>;
}

/**
 * Creates a function that deletes at most `limit` rows of workspaces, and gives each workspace an equal share, so that one with
 * a million rows doesn't delay the others. What a workspace leaves of its share goes to the others. Each call continues with
 * the workspaces after those of the previous call.
 */
export function createFairPurge({
  listWorkspaces,
  purge,
}: WorkspacePurge): (db: Db, limit: number) => Promise<number> {
  let after: WorkspaceId | undefined;
  const list = (db: Db) =>
    db.transaction().execute(async (trx) => {
      // Only the admission role sees more than one workspace. The purger has a single connection.
      await sql`set local role latchkey_admission`.execute(trx);
      const following = await listWorkspaces(trx, { after, limit: workspacesPerStep });
      if (after === undefined || following.length === workspacesPerStep) return following;
      const preceding = await listWorkspaces(trx, { after: undefined, limit: workspacesPerStep });
      return [...new Set([...following, ...preceding])].slice(0, workspacesPerStep);
    });
  const purgeListed = async (
    db: Db,
    listed: readonly WorkspaceId[],
    { limit, failures }: { readonly limit: number; readonly failures: unknown[] },
  ) => {
    let count = 0;
    // Each round either spends the limit or removes a workspace, so there are few rounds.
    let unfinished = listed;
    while (unfinished.length > 0 && count < limit) {
      const share = Math.max(1, Math.floor((limit - count) / unfinished.length));
      const remaining: WorkspaceId[] = [];
      for (const workspaceId of unfinished) {
        const wanted = Math.min(share, limit - count);
        if (wanted === 0) break;
        // Nothing of these rows can be read any more, so no permission is needed.
        const scope = mintWorkspaceScope(workspaceId);
        after = workspaceId;
        try {
          const deleted = await inWorkspace(db, scope, (trx) => purge(trx, scope, wanted));
          count += deleted;
          if (deleted === wanted) remaining.push(workspaceId);
        } catch (error) {
          // The others must not wait until this one can be purged.
          failures.push(error);
        }
      }
      unfinished = remaining;
    }
    return count;
  };
  return async (db, limit) => {
    let count = 0;
    const failures: unknown[] = [];
    // Workspaces with few rows leave most of the limit to those of the next list. The bound is for rows that are locked.
    for (let visited = 0; visited < limit && count < limit; visited += workspacesPerStep) {
      const listed = await list(db);
      count += await purgeListed(db, listed, { limit: limit - count, failures });
      if (listed.length < workspacesPerStep) break;
    }
    if (failures.length > 0) throw new AggregateError(failures, "Rows of some workspaces can't be purged.");
    return count;
  };
}
