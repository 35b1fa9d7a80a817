import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WebhookId, WorkspaceId } from "./ids.ts";
import { closeRecord } from "./purge-workspaces.ts";
import type { Db } from "./schema.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** How many deleted webhooks of a workspace one step visits at most. */
const webhooksPerStep = 50;

/** Creates a rule that deletes the deliveries of deleted webhooks. Workspaces take turns. */
export function createWebhookPurge(): (db: Db, limit: number) => Promise<number> {
  return createFairPurge({
    listWorkspaces: async (trx, { after, limit }) => {
      const { rows } = await sql<{ id: WorkspaceId }>`
        select distinct workspace_id as id from deleted_webhooks
        where next_purge_at <= now() ${after ? sql`and workspace_id > ${after}` : sql``}
        order by workspace_id limit ${limit}`.execute(trx);
      return rows.map(({ id }) => id);
    },
    purge: purgeWebhooks,
  });
}

async function purgeWebhooks(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: WebhookId }>`
    select id from deleted_webhooks where workspace_id = ${workspaceId} and next_purge_at <= now()
    order by next_purge_at, id limit ${Math.min(limit, webhooksPerStep)}`.execute(trx);
  let count = 0;
  for (const { id } of rows) {
    if (count < limit) count += await purgeDeliveries(trx, { workspaceId, id }, limit - count);
    if (count < limit) count += await purgeRecord(trx, { workspaceId, id });
  }
  return count;
}

interface DeletedWebhook {
  readonly workspaceId: WorkspaceId;
  readonly id: WebhookId;
}

async function purgeDeliveries(
  trx: WorkspaceTrx,
  { workspaceId, id }: DeletedWebhook,
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_deliveries where ctid = any(array(
      select ctid from webhook_deliveries where workspace_id = ${workspaceId} and webhook_id = ${id}
      order by created_at, id limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}

async function purgeRecord(trx: WorkspaceTrx, { workspaceId, id }: DeletedWebhook): Promise<number> {
  const isDone = sql`workspace_id = ${workspaceId} and id = ${id} and next_purge_at <= now()
    and not exists (select from webhook_deliveries where workspace_id = ${workspaceId} and webhook_id = ${id})`;
  return await closeRecord(trx, "deleted_webhooks", isDone);
}
