import { type Kysely, sql, type Transaction } from "kysely";
import type { WorkspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { type DeleteBatch, purgeInRound } from "./purge-round.ts";
import type { Database, Db } from "./schema.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

/** Beyond this number, {@link previewRetention} stops counting. */
export const maxCountedEvents = 100_000;

/** What a retention deletes. */
export interface RetentionPreview {
  /** At most {@link maxCountedEvents}. */
  readonly count: number;
  /** When the oldest event happened; null if none is deleted. */
  readonly oldestAt: Date | null;
}

/** Counts the events of a workspace that are older than this many days. */
export async function previewRetention(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  days: number,
): Promise<RetentionPreview> {
  const { rows } = await sql<RetentionPreview>`
    with expired as (
      select occurred_at from audit_events
      where workspace_id = ${scope.workspaceId} and occurred_at <= now() - make_interval(days => ${days})
      order by occurred_at limit ${maxCountedEvents}
    )
    select count(*) as count, min(occurred_at) as "oldestAt" from expired`.execute(trx);
  return rows[0] ?? { count: 0, oldestAt: null };
}

/** How many workspaces {@link createAuditPurge} lists at once. */
const workspacesPerList = 50;

/**
 * Creates a function that deletes at most `limit` events that are older than their workspace keeps them. Each call continues
 * with the workspaces after those of the previous call, so that one with many expired events doesn't delay the others. After
 * each list, it returns to the workspaces that had more events than a call deletes, so that these don't wait until all others
 * have been visited. It visits each workspace at most once per call. A workspace whose events can't be deleted doesn't delay the
 * others either: it is left to a later round.
 */
export function createAuditPurge(): DeleteBatch {
  let after: WorkspaceId | undefined;
  const unfinished = new Set<WorkspaceId>();
  return async (db, limit, round) => {
    const visited = new Set<WorkspaceId>();
    let count = 0;
    const visit = async (workspaceId: WorkspaceId): Promise<void> => {
      visited.add(workspaceId);
      if (round?.failures.has(workspaceId)) return;
      const left = limit - count;
      const deleted = await purgeInRound(round, workspaceId, () => deleteExpired(db, workspaceId, left));
      count += deleted;
      // Added again at the end, so that several of them are visited in turns.
      unfinished.delete(workspaceId);
      if (deleted === left) unfinished.add(workspaceId);
    };
    // Visiting takes a transaction, so the second bound keeps a call short if few of many workspaces have expired events.
    while (count < limit && visited.size < limit) {
      const listed = await listWithRetention(db, after);
      const next = new Set(listed.filter((id) => !visited.has(id)));
      if (next.size === 0) break;
      for (const workspaceId of new Set([...next, ...unfinished])) {
        if (count >= limit || round?.signal.aborted) return count;
        if (next.has(workspaceId)) after = workspaceId;
        if (!visited.has(workspaceId)) await visit(workspaceId);
      }
      // Such a list has all workspaces.
      if (listed.length < workspacesPerList) break;
    }
    return count;
  };
}

/** Lists workspaces with a retention: those after a workspace, then those from the first one on. */
async function listWithRetention(
  db: Kysely<Database>,
  after: WorkspaceId | undefined,
): Promise<WorkspaceId[]> {
  return await db.transaction().execute(async (trx) => {
    // Only the admission role sees more than one workspace. The purger has a single connection.
    await sql`set local role latchkey_admission`.execute(trx);
    const later = await listPage(trx, { after, limit: workspacesPerList });
    const isWrapping = after !== undefined && later.length < workspacesPerList;
    const first = isWrapping
      ? await listPage(trx, { upTo: after, limit: workspacesPerList - later.length })
      : [];
    return [...later, ...first];
  });
}

async function listPage(
  trx: Transaction<Database>,
  {
    after,
    upTo,
    limit,
  }: {
    readonly after?: WorkspaceId | undefined;
    readonly upTo?: WorkspaceId | undefined;
    readonly limit: number;
  },
): Promise<WorkspaceId[]> {
  let query = trx.selectFrom("workspaces").select("id").where("audit_retention_days", "is not", null);
  if (after) query = query.where("id", ">", after);
  if (upTo) query = query.where("id", "<=", upTo);
  const rows = await query.orderBy("id").limit(limit).execute();
  return rows.map(({ id }) => id);
}

/**
 * Deletes the oldest expired events of a workspace. Reads the retention in the same statement, because it may have been
 * changed since. The role can't change events and therefore can't lock them, so this waits for another node that
 * deletes the same events. Both delete events in the same order, so they can't deadlock.
 */
async function deleteExpired(db: Db, workspaceId: WorkspaceId, limit: number): Promise<number> {
  return await inWorkspace(db, mintWorkspaceScope(workspaceId), async (trx) => {
    const { numAffectedRows = 0n } = await sql`
      delete from audit_events where ctid = any(array(
        select ctid from audit_events
        where workspace_id = ${workspaceId} and occurred_at <= now() - make_interval(days => (
          select audit_retention_days from workspaces where id = ${workspaceId}
        ))
        order by occurred_at, id limit ${limit}
      ))`.execute(trx);
    return Number(numAffectedRows);
  });
}
