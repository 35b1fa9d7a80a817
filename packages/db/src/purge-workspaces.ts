import { type RawBuilder, sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WorkspaceId } from "./ids.ts";
import { purgeAccounts, purgeKeys, purgeSecrets } from "./purge-service-accounts.ts";
import type { Db } from "./schema.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * How long the record of a deletion is kept at least, in hours. Transactions of nodes of a former version, which relied on foreign
 * keys, can still add rows after the deletion. None takes nearly as long.
 */
const keptHours = 1;

/** When a record is visited after nothing was left. */
const lastVisit = sql`deleted_at + make_interval(hours => ${keptHours})`;

/**
 * Creates a rule that deletes rows of deleted workspaces: audit events, deliveries to webhooks, blocked API keys, and service
 * accounts with their API keys. When nothing is left, it visits the record of the deletion once more, after {@link keptHours}, and deletes it. Workspaces take turns.
 */
export function createWorkspacePurge(): (db: Db, limit: number) => Promise<number> {
  return createFairPurge({
    listWorkspaces: async (trx, { after, limit }) => {
      const { rows } = await sql<{ id: WorkspaceId }>`
        select workspace_id as id from deleted_workspaces
        where next_purge_at <= now() ${after ? sql`and workspace_id > ${after}` : sql``}
        order by workspace_id limit ${limit}`.execute(trx);
      return rows.map(({ id }) => id);
    },
    purge: purgeWorkspace,
  });
}

const steps = [
  purgeEvents,
  purgeDeliveries,
  purgeBlockedKeys,
  purgeSecrets,
  purgeKeys,
  purgeAccounts,
  purgeRecord,
] as const;

async function purgeWorkspace(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  let count = 0;
  for (const purge of steps) if (count < limit) count += await purge(trx, workspaceId, limit - count);
  return count;
}

/**
 * The role can't change events and therefore can't lock them, so this waits for another node that deletes the same events. Both
 * delete events in the same order, so they can't deadlock.
 */
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
  const isDone = sql`workspace_id = ${id} and next_purge_at <= now()
    and not exists (select from audit_events where workspace_id = ${id})
    and not exists (select from webhook_deliveries where workspace_id = ${id})
    and not exists (select from workspace_key_access where workspace_id = ${id})
    and not exists (select from users where service_workspace_id = ${id})`;
  return await closeRecord(trx, "deleted_workspaces", isDone);
}

/**
 * Deletes the records of deletions that are old enough, and postpones the next visit of the others.
 * @param isDone selects the records of which nothing is left.
 * @returns how many records it deleted or postponed.
 */
export async function closeRecord(
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
