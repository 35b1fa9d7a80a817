import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WebhookId, WorkspaceId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import { closeRecords, listDue, lockPurge } from "./purge-workspaces.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Creates a rule that deletes the deliveries and the queues of deleted webhooks. Workspaces take turns. */
export function createWebhookPurge(): DeleteBatch {
  return createFairPurge({
    listWorkspaces: (trx, page) => listDue(trx, "deleted_webhooks", page),
    purge: purgeWebhooks,
  });
}

/**
 * Visits at most `limit` deleted webhooks, of which there can be many with one delivery each. When none is left, deletes the
 * queue of the webhook's jobs: each job that starts, of any workspace, locks the rows of all queues.
 */
export async function purgeWebhooks(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  if (!(await lockPurge(trx, "webhooks", workspaceId))) return 0;
  const { existing, empty, others } = await readDue(trx, workspaceId, limit);
  const busy = await deleteQueues(trx, empty);
  let count = await postpone(trx, workspaceId, busy);
  const done = [...existing, ...empty.filter((id) => !busy.includes(id))];
  count += await closeRecords(
    trx,
    "deleted_webhooks",
    sql`workspace_id = ${workspaceId} and id = any(${done}::uuid[])`,
  );
  if (count < limit) count += await purgeDeliveries(trx, workspaceId, others, limit - count);
  return count;
}

interface DueWebhooks {
  /** Those that exist, because they were restored by hand. */
  readonly existing: readonly WebhookId[];
  /** Those without deliveries. */
  readonly empty: readonly WebhookId[];
  readonly others: readonly WebhookId[];
}

async function readDue(trx: WorkspaceTrx, workspaceId: WorkspaceId, limit: number): Promise<DueWebhooks> {
  // One probe of the index per record. As `exists`, Postgres would read all deliveries of the workspace once instead, and
  // without the order, the whole table if the webhook had many deliveries when statistics were made.
  const { rows } = await sql<{ id: WebhookId; kind: keyof DueWebhooks }>`
    with due as materialized (
      select id from deleted_webhooks where workspace_id = ${workspaceId} and next_purge_at <= now() limit ${limit}
    )
    select due.id,
      case when webhook.id is not null then 'existing' when delivery.id is null then 'empty' else 'others' end as kind
    from due
    left join webhooks webhook on webhook.workspace_id = ${workspaceId} and webhook.id = due.id
    left join lateral (
      select id from webhook_deliveries where workspace_id = ${workspaceId} and webhook_id = due.id
      order by created_at, id limit 1
    ) as delivery on true`.execute(trx);
  const idsOf = (kind: keyof DueWebhooks) => rows.filter((row) => row.kind === kind).map(({ id }) => id);
  return { existing: idsOf("existing"), empty: idsOf("empty"), others: idsOf("others") };
}

/**
 * Deletes the queues of webhooks that don't exist, unless they have jobs. Nobody adds another one: adding a delivery, and
 * requesting one again, locks the webhook until the job is committed, and a job that moves itself keeps its queue locked.
 * @returns the webhooks whose queues have jobs. A job whose delivery was deleted ends when it is due, in six hours at most.
 */
async function deleteQueues(trx: WorkspaceTrx, ids: readonly WebhookId[]): Promise<readonly WebhookId[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: WebhookId }>`
    select delete_job_queues(${ids}::text[]) as id`.execute(trx);
  return rows.map(({ id }) => id);
}

async function postpone(
  trx: WorkspaceTrx,
  workspaceId: WorkspaceId,
  ids: readonly WebhookId[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const { numAffectedRows = 0n } = await sql`
    update deleted_webhooks set next_purge_at = now() + interval '1 hour'
    where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`.execute(trx);
  return Number(numAffectedRows);
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
