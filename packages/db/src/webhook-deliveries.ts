import { type RawBuilder, sql } from "kysely";
import type { AuditAction } from "./audit-actions.ts";
import { type AuditEventId, createId, type DeliveryId, type WebhookId } from "./ids.ts";
import { addQueuedJobs, moveQueuedJob } from "./jobs/add-job.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { AttemptOutcome, DeliveryAttempt, DeliveryStatus } from "./schema/webhooks.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** One event, or a test message, that is sent to one webhook until it succeeds. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  /** Null for a test message. */
  readonly eventId: AuditEventId | null;
  readonly action: AuditAction | "webhook.test";
  readonly status: DeliveryStatus;
  /** Since the delivery was created or last requested again. */
  readonly attemptCount: number;
  /** The last 50 attempts, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

/**
 * How often a delivery is attempted: about 28 hours. The pause after attempt n is e^n seconds, and at most e^10 seconds
 * (6 hours).
 */
const maxDeliveryAttempts = 14;

/** Whether the next attempt of a delivery is its last one. */
export function isLastAttempt({ attemptCount }: Delivery): boolean {
  return attemptCount + 1 >= maxDeliveryAttempts;
}

/**
 * The job allows more attempts than the delivery: it also counts attempts that a killed node didn't record, and the
 * last attempt has to be recorded as such.
 */
const maxJobAttempts = 2 * maxDeliveryAttempts;

/** How many attempts are kept: redeliveries add attempts without limit. */
const maxListedAttempts = 50;

/** How long deliveries are listed, in days. */
const keepDays = 30;

const columns = [
  "webhook_deliveries.id",
  "webhook_deliveries.webhook_id as webhookId",
  "webhook_deliveries.event_id as eventId",
  "webhook_deliveries.action",
  "webhook_deliveries.status",
  "webhook_deliveries.attempt_count as attemptCount",
  "webhook_deliveries.attempts",
  "webhook_deliveries.next_attempt_at as nextAttemptAt",
  "webhook_deliveries.created_at as createdAt",
] as const;

/** A webhook that is enabled. */
export interface ReceivingWebhook {
  readonly id: WebhookId;
  /** The actions whose events are sent; null for all. */
  readonly actions: readonly AuditAction[] | null;
}

/** Adds a delivery of each event to each webhook that gets events of its action, by two statements per webhook. */
export async function addDeliveries(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  events: readonly { readonly id: AuditEventId; readonly action: AuditAction }[],
  webhooks: readonly ReceivingWebhook[],
): Promise<void> {
  for (const { id: webhookId, actions } of webhooks) {
    const deliveries = events
      .filter(({ action }) => !actions || actions.includes(action))
      .map(({ id: eventId, action }) => ({ id: createId("delivery"), eventId, action }));
    await insertDeliveries(trx, scope, webhookId, deliveries);
  }
}

/** Adds a delivery, which a job attempts after the commit. */
export async function addDelivery(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  delivery: Pick<Delivery, "webhookId" | "eventId" | "action">,
): Promise<DeliveryId> {
  const id = createId("delivery");
  await insertDeliveries(trx, scope, delivery.webhookId, [{ ...delivery, id }]);
  return id;
}

/** Prevents the deletion of the webhook until the transaction ends, or does nothing if it was already deleted. */
async function insertDeliveries(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  webhookId: WebhookId,
  deliveries: readonly Pick<Delivery, "id" | "eventId" | "action">[],
): Promise<void> {
  if (deliveries.length === 0) return;
  // No foreign key keeps deliveries from outliving their webhook.
  const { rows } = await sql<{ id: DeliveryId }>`
    with webhook as materialized (
      select workspace_id, id from webhooks
      where workspace_id = ${scope.workspaceId} and id = ${webhookId} for key share
    )
    insert into webhook_deliveries (workspace_id, webhook_id, id, event_id, action, next_attempt_at)
    select webhook.workspace_id, webhook.id, delivery.id, delivery.event_id, delivery.action, clock_timestamp()
    from webhook cross join unnest(
      ${deliveries.map(({ id }) => id)}::uuid[], ${deliveries.map(({ eventId }) => eventId)}::uuid[],
      ${deliveries.map(({ action }) => action)}::text[]
    ) as delivery (id, event_id, action)
    returning id`.execute(trx);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await addDeliveryJobs(trx, scope, webhookId, ids);
}

/** Attempts a delivery again, with all of its attempts, whatever its status. */
export async function requestDelivery(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { id, webhookId }: Pick<Delivery, "id" | "webhookId">,
): Promise<void> {
  await trx
    .updateTable("webhook_deliveries")
    .set({ status: "pending", attempt_count: 0, next_attempt_at: sql<Date>`clock_timestamp()` })
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .execute();
  await addDeliveryJobs(trx, scope, webhookId, [id]);
}

async function addDeliveryJobs(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  webhookId: WebhookId,
  ids: readonly DeliveryId[],
): Promise<void> {
  const jobs = ids.map((id) => ({ key: id, payload: { workspaceId, deliveryId: id } }));
  await addQueuedJobs(trx, "deliver-to-webhook", jobs, { maxAttempts: maxJobAttempts, queue: webhookId });
}

/** Moves the running job of a delivery to the worker for slow webhooks. */
export async function moveToSlowDeliveries(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { id: deliveryId, webhookId, attemptCount }: Delivery,
): Promise<void> {
  const options = { key: deliveryId, maxAttempts: maxJobAttempts, queue: webhookId, attempts: attemptCount };
  await moveQueuedJob(trx, "deliver-to-slow-webhook", { workspaceId, deliveryId }, options);
}

export const deliveryOrders = {
  createdAt: {
    column: "webhook_deliveries.created_at",
    type: "timestamptz",
    id: "webhook_deliveries.id",
  },
} as const satisfies Record<string, Order>;

/** Returns a page of the deliveries to a webhook. */
export async function listDeliveries(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter,
    ...page
  }: Page & {
    readonly sort: keyof typeof deliveryOrders;
    readonly filter: { readonly webhookId: WebhookId; readonly status?: DeliveryStatus | undefined };
  },
): Promise<(Delivery & { position: string })[]> {
  let query = trx
    .selectFrom("webhook_deliveries")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where("webhook_id", "=", filter.webhookId);
  if (filter.status) query = query.where("status", "=", filter.status);
  return await cutPage(query, deliveryOrders[sort], page).execute();
}

export async function findDelivery(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: DeliveryId,
): Promise<Delivery | undefined> {
  return await trx
    .selectFrom("webhook_deliveries")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
}

/**
 * Adds an attempt that has just ended to a delivery that is pending, and decides whether there will be another one. The time
 * at which the attempt began is computed from the database's clock and the time that has passed since, because the node's clock may
 * be wrong.
 * @param startedAt when the attempt began, by `performance.now()`.
 * @param isFinal whether there is no further attempt, whatever the outcome and the number of attempts.
 * @returns the status; undefined if the delivery is no longer pending.
 */
export async function recordAttempt(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: DeliveryId,
  {
    attempt,
    startedAt,
    isSuccess,
    isFinal,
  }: {
    readonly attempt: AttemptOutcome;
    readonly startedAt: number;
    readonly isSuccess: boolean;
    readonly isFinal: boolean;
  },
): Promise<DeliveryStatus | undefined> {
  const row = await trx
    .updateTable("webhook_deliveries")
    .set((eb) => ({
      attempts: appendAttempt(
        attempt,
        sql`clock_timestamp() - make_interval(secs => ${(performance.now() - startedAt) / 1_000})`,
      ),
      attempt_count: eb("attempt_count", "+", 1),
      status: sql<DeliveryStatus>`case
        when ${isSuccess} then 'succeeded'
        when ${isFinal} or attempt_count + 1 >= ${maxDeliveryAttempts} then 'failed'
        else 'pending' end`,
      next_attempt_at: sql<Date | null>`case
        when not ${isSuccess} and not ${isFinal} and attempt_count + 1 < ${maxDeliveryAttempts}
        then clock_timestamp() + make_interval(secs => exp(least(10, attempt_count + 1))) end`,
    }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where("status", "=", "pending")
    .returning("status")
    .executeTakeFirst();
  return row?.status;
}

/** The `attempts` of a delivery with one more, which began `at` this time. The oldest of too many is dropped. */
export function appendAttempt(attempt: AttemptOutcome, at: RawBuilder<unknown>): RawBuilder<never> {
  return sql<never>`
    (case when jsonb_array_length(attempts) < ${maxListedAttempts} then attempts else attempts - 0 end)
    || jsonb_build_array(${JSON.stringify(attempt)}::jsonb || jsonb_build_object('at', to_char(
      (${at}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`;
}

/** Marks a pending delivery as failed, so that it is not attempted again. */
export async function failDelivery(trx: WorkspaceTrx, scope: WorkspaceScope, id: DeliveryId): Promise<void> {
  await trx
    .updateTable("webhook_deliveries")
    .set({ status: "failed", next_attempt_at: null })
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where("status", "=", "pending")
    .execute();
}

/**
 * Deletes some deliveries of a workspace that are older than a month. One that is pending was requested again, so it stays until its
 * attempts have ended, unless it has no job: attempts are at most six hours apart. The purger deletes only those of deleted webhooks.
 */
export async function deleteOldDeliveries(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<void> {
  await sql`
    delete from webhook_deliveries where ctid = any(array(
      select ctid from webhook_deliveries
      where workspace_id = ${scope.workspaceId}
        and created_at <= clock_timestamp() - make_interval(days => ${keepDays}) 
        and (status <> 'pending' or next_attempt_at <= clock_timestamp() - interval '7 days')
      order by created_at limit 100 for update skip locked
    ))`.execute(trx);
}
