import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WebhookId, WorkspaceId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import { closeRecords, listDue, lockPurge } from "./purge-workspaces.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Creates a rule that deletes the deliveries of deleted webhooks. Workspaces take turns. */
export function createWebhookPurge(): DeleteBatch {
  return createFairPurge({
    listWorkspaces: (trx, page) => listDue(trx, "deleted_webhooks", page),
    purge: purgeWebhooks,
  });
}

/** Visits at most `limit` deleted webhooks, of which there can be many with one delivery each. */
export async function purgeWebhooks(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  if (!(await lockPurge(trx, "webhooks", workspaceId))) return 0;
  const { done, others } = await readDue(trx, workspaceId, limit);
  let count = await closeRecords(
    trx,
    "deleted_webhooks",
    sql`workspace_id = ${workspaceId} and id = any(${done}::uuid[])`,
  );
  if (count < limit) count += await purgeDeliveries(trx, workspaceId, others, limit - count);
  return count;
}

interface DueWebhooks {
  /** Those without deliveries, and those that exist, because they were restored by hand. */
  readonly done: readonly WebhookId[];
  readonly others: readonly WebhookId[];
}

async function readDue(trx: WorkspaceTrx, workspaceId: WorkspaceId, limit: number): Promise<DueWebhooks> {
  // One probe of the index per record. As `exists`, Postgres would read all deliveries of the workspace once instead, and
  // without the order, the whole table if the webhook had many deliveries when statistics were made.
  const { rows } = await sql<{ id: WebhookId; isDone: boolean }>`
    with due as materialized (
      select id from deleted_webhooks where workspace_id = ${workspaceId} and next_purge_at <= now() limit ${limit}
    )
    select due.id, webhook.id is not null or delivery.id is null as "isDone"
    from due
    left join webhooks webhook on webhook.workspace_id = ${workspaceId} and webhook.id = due.id
    left join lateral (
      select id from webhook_deliveries where workspace_id = ${workspaceId} and webhook_id = due.id
      order by created_at, id limit 1
    ) as delivery on true`.execute(trx);
  const [done, others] = [rows.filter(({ isDone }) => isDone), rows.filter(({ isDone }) => !isDone)];
  return { done: done.map(({ id }) => id), others: others.map(({ id }) => id) };
}

async function purgeDeliveries(
  trx: WorkspaceTrx,
  workspaceId: WorkspaceId,
  webhookIds: readonly WebhookId[],
  limit: number,
): Promise<number> {
  // The order is that of the index, so that a webhook with a million deliveries is read from its beginning, not sorted.
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_deliveries where ctid = any(array(
      select delivery.ctid from unnest(${webhookIds}::uuid[]) as webhook (id) cross join lateral (
        select ctid from webhook_deliveries where workspace_id = ${workspaceId} and webhook_id = webhook.id
        order by created_at, id limit ${limit} for update skip locked
      ) as delivery
      limit ${limit}
    ))`.execute(trx);
  return Number(numAffectedRows);
}
