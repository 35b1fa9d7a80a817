import { type RawBuilder, sql } from "kysely";
import { createFairPurge, type WorkspacePage } from "./fair-purge.ts";
import type { WorkspaceId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import type { Trx } from "./schema.ts";
import { lockWorkspaceAgainstDeletion } from "./workspace-locks.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * How long the record of a deletion is kept at least, in hours. Transactions of nodes of a former version, which relied
 * on foreign keys, can still add rows after the deletion. None takes nearly as long.
 */
const keptHours = 1;

/** When a record is visited after nothing was left. */
const lastVisit = sql`deleted_at + make_interval(hours => ${keptHours})`;

/**
 * Creates a rule that deletes the audit events, deliveries to webhooks and blocked API keys of deleted workspaces. When
 * nothing is left, it visits the record of the deletion once more, after {@link keptHours}, and deletes it. Workspaces
 * take turns.
 */
export function createWorkspacePurge(): DeleteBatch {
  return createFairPurge({
    listWorkspaces: (trx, page) => listDue(trx, "deleted_workspaces", page),
    purge: purgeWorkspace,
  });
}

/** Lists the workspaces with a record that is due, in the order of their IDs. */
export async function listDue(
  trx: Trx,
  table: "deleted_workspaces" | "deleted_webhooks",
  { after, limit }: WorkspacePage,
): Promise<readonly WorkspaceId[]> {
  const { rows } = await sql<{ id: WorkspaceId }>`
    select distinct workspace_id as id from ${sql.table(table)}
    where next_purge_at <= now() ${after ? sql`and workspace_id > ${after}` : sql``}
    order by workspace_id limit ${limit}`.execute(trx);
  return rows.map(({ id }) => id);
}

/**
 * Whether this transaction may purge rows of a workspace: false while another node does, which would delete the same rows.
 * @param what the kind of the rows.
 */
export async function lockPurge(trx: WorkspaceTrx, what: string, id: WorkspaceId): Promise<boolean> {
  const { rows } = await sql<{ isLocked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`latchkey purge ${what} ${id}`}, 0)) as "isLocked"`.execute(
    trx,
  );
  return rows[0]?.isLocked ?? false;
}

const steps = [purgeEvents, purgeDeliveries, purgeBlockedKeys, purgeRecord] as const;

/** Deletes rows of a deleted workspace, or the record of its deletion. */
export async function purgeWorkspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  limit: number,
): Promise<number> {
  const { workspaceId } = scope;
  if (!(await lockPurge(trx, "workspace", workspaceId))) return 0;
  // Only a deleted workspace has a record, unless it was restored by hand. Without the lock, this could delete the record of
  // its next deletion.
  if (await lockWorkspaceAgainstDeletion(trx, scope)) {
    const { numAffectedRows = 0n } = await sql`
      delete from deleted_workspaces where workspace_id = ${workspaceId}`.execute(trx);
    return Number(numAffectedRows);
  }
  let count = 0;
  for (const purge of steps) if (count < limit) count += await purge(trx, workspaceId, limit - count);
  return count;
}

/** The role can't change events and therefore can't lock them. */
async function purgeEvents(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from audit_events where ctid = any(array(
      select ctid from audit_events where workspace_id = ${id} order by occurred_at, id limit ${limit}
    ))`.execute(trx);
  return Number(numAffectedRows);
}

async function purgeDeliveries(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_deliveries where ctid = any(array(
      select ctid from webhook_deliveries where workspace_id = ${id}
      order by created_at limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}

async function purgeBlockedKeys(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from workspace_key_access where ctid = any(array(
      select ctid from workspace_key_access where workspace_id = ${id}
      order by key_id limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}

/** Deletes the record of the deletion, or postpones its next visit, if nothing is left. */
async function purgeRecord(trx: WorkspaceTrx, id: WorkspaceId): Promise<number> {
  // The order makes Postgres use the index. With statistics from before the purge, it would otherwise read the whole table to
  // find one of the workspace's many rows.
  const isDone = sql`workspace_id = ${id} and next_purge_at <= now()
    and (select id from audit_events where workspace_id = ${id} order by occurred_at, id limit 1) is null
    and (select id from webhook_deliveries where workspace_id = ${id} order by created_at limit 1) is null
    and (select key_id from workspace_key_access where workspace_id = ${id} order by key_id limit 1) is null`;
  return await closeRecords(trx, "deleted_workspaces", isDone);
}

/**
 * Deletes the records of deletions that are old enough, and postpones the next visit of the others.
 * @param isDone selects the records of which nothing is left.
 * @returns how many records it deleted or postponed.
 */
export async function closeRecords(
  trx: WorkspaceTrx,
  table: "deleted_workspaces" | "deleted_webhooks",
  isDone: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ closed: number }>`
    with deleted as (
      delete from ${sql.table(table)} where ${isDone} and ${lastVisit} <= now() returning 1
    ),
    postponed as (
      update ${sql.table(table)} set next_purge_at = ${lastVisit} where ${isDone} and ${lastVisit} > now() returning 1
    )
    select (select count(*) from deleted) + (select count(*) from postponed) as closed`.execute(trx);
  return rows[0]?.closed ?? 0;
}
