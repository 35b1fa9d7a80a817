import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WorkspaceId } from "./ids.ts";
import { closeRecords, listDue, lockPurge } from "./purge-workspaces.ts";
import type { Db } from "./schema.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Creates a rule that deletes the deliveries of deleted webhooks. Workspaces take turns. */
export function createWebhookPurge(): (db: Db, limit: number) => Promise<number> {
  return createFairPurge({
    listWorkspaces: (trx, page) => listDue(trx, "deleted_webhooks", page),
    purge: purgeWebhooks,
  });
}

async function purgeWebhooks(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  if (!(await lockPurge(trx, "webhooks", workspaceId))) return 0;
  let count = await purgeRecords(trx, workspaceId, limit);
  if (count < limit) count += await purgeDeliveries(trx, workspaceId, limit - count);
  return count;
}

/** Closes the records of webhooks without deliveries. That of a webhook that exists, which was restored by hand, is closed too. */
async function purgeRecords(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const isDone = sql`ctid = any(array(
    select record.ctid from deleted_webhooks record
    where record.workspace_id = ${id} and record.next_purge_at <= now() and (
      not exists (
        select from webhook_deliveries where workspace_id = record.workspace_id and webhook_id = record.id
      )
      or exists (select from webhooks where workspace_id = record.workspace_id and webhooks.id = record.id)
    )
    limit ${limit}
  ))`;
  return await closeRecords(trx, "deleted_webhooks", isDone);
}

async function purgeDeliveries(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_deliveries where ctid = any(array(
      select delivery.ctid from deleted_webhooks record
      join webhook_deliveries delivery
        on delivery.workspace_id = record.workspace_id and delivery.webhook_id = record.id
      where record.workspace_id = ${id} and record.next_purge_at <= now()
        and not exists (select from webhooks where workspace_id = record.workspace_id and webhooks.id = record.id)
      limit ${limit} for update of delivery skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}
