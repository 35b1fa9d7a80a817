import { sql } from "kysely";
import {
  type Actor,
  type AuditAction,
  type AuditOrigin,
  auditActions,
  type Change,
  type Details,
  isOperatorActing,
  keyActions,
} from "./audit-actions.ts";
import {
  type AuditEventId,
  type ConsumerId,
  createId,
  encodeId,
  type IssuedKeyId,
  type KeyId,
  type KeyspaceId,
  type UserId,
  type WebhookId,
} from "./ids.ts";
import { appendInstanceEvents, type NewInstanceEvent } from "./instance-events.ts";
import { addNotices } from "./notices.ts";
import { hourlyBucket, tryConsumeFromBucket } from "./throttle-buckets.ts";
import { addDeliveries, type ReceivingWebhook } from "./webhook-deliveries.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Adds a change to the audit log of its workspace, in the transaction that makes the change, and its deliveries to
 * webhooks. A change by an operator is added to the instance log too, except for one that `appendSecurityEvent` adds
 * once for all workspaces of a key. Prevents the deletion of the workspace until the transaction ends: no foreign key keeps
 * events from outliving their workspace. Throws if the workspace was already deleted.
 */
export async function appendAudit(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  origin: AuditOrigin,
  change: Change,
): Promise<void> {
  if (await appendChanges(trx, scope, origin, [change])) return;
  throw new Error("The workspace of an audit event doesn't exist.");
}

/**
 * Records any number of changes with one statement, like {@link appendAudit}, but does nothing if the workspace was already
 * deleted.
 */
export async function appendAuditEvents(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  origin: AuditOrigin,
  changes: readonly Change[],
): Promise<void> {
  await appendChanges(trx, scope, origin, changes);
}

/** Returns false if the workspace doesn't exist. */
async function appendChanges(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  origin: AuditOrigin,
  changes: readonly Change[],
): Promise<boolean> {
  const events = changes.map((change) => ({ ...change, id: createId("auditEvent") }));
  const { isInserted, webhooks } = await insertAuditEvents(trx, scope, origin, events);
  if (!isInserted) return false;
  await addDeliveries(trx, scope, events, webhooks);
  for (const event of events)
    if (event.action === "member.role-changed") await addRoleNotice(trx, scope, origin, event);
  await recordForOperators(trx, scope, origin, events);
  return true;
}

/**
 * Inserts events, and reads the webhooks that are enabled by the same statement, because a change to a key does this once
 * per workspace that the key can reach.
 */
async function insertAuditEvents(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { actor, address, requestId }: AuditOrigin,
  events: readonly (Change & { readonly id: AuditEventId })[],
): Promise<{ readonly isInserted: boolean; readonly webhooks: readonly ReceivingWebhook[] }> {
  const actorUserId = "userId" in actor ? actor.userId : null;
  const actorKeyId = actor.kind === "key" ? actor.keyId : null;
  // The members of a workspace don't see the IP address of an operator. The instance log has it.
  const shownAddress = isOperator(actor) ? null : address;
  const { rows } = await sql<{ id: WebhookId | null; actions: readonly AuditAction[] | null }>`
    with workspace as materialized (
      select id from workspaces where id = ${workspaceId} for key share
    ),
    inserted as (
      insert into audit_events (workspace_id, id, action, actor_kind, actor_user_id, actor_key_id, target_kind, target_id,
        target_owner_id, before, after, address, request_id)
      select workspace.id, event.id, event.action, ${actor.kind}, ${actorUserId}::uuid, ${actorKeyId}::uuid,
        event.target_kind, event.target_id,
        case event.target_kind when 'key' then (select user_id from api_keys where api_keys.id = event.target_id) end,
        event.before, event.after, ${shownAddress}, ${requestId}
      from workspace cross join unnest(
      ${events.map(({ id }) => id)}::uuid[], ${events.map(({ action }) => action)}::text[],
      ${events.map(({ action }) => auditActions[action])}::text[],
      ${events.map(({ targetId }) => targetId)}::uuid[],
      ${events.map(({ before }) => before && JSON.stringify(before))}::jsonb[],
      ${events.map(({ after }) => after && JSON.stringify(after))}::jsonb[]
      ) as event (id, action, target_kind, target_id, before, after)
    )
    -- One row without a webhook if there is none, and no row at all if the workspace was deleted.
    select webhooks.id, webhooks.actions
    from workspace left join webhooks on webhooks.workspace_id = workspace.id and webhooks.disabled_at is null
      and not exists (select from workspaces where id = workspace.id and workspaces.disabled_at is not null)`.execute(
    trx,
  );
  const webhooks = rows.flatMap(({ id, actions }) => (id ? [{ id, actions }] : []));
  return { isInserted: rows.length > 0, webhooks };
}

function isOperator(actor: AuditOrigin["actor"]): actor is Actor {
  return actor.kind !== "system" && isOperatorActing(actor);
}

/** Adds a change by an operator to the instance log. */
async function recordForOperators(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  origin: AuditOrigin,
  changes: readonly Change[],
): Promise<void> {
  const { actor } = origin;
  if (!isOperator(actor)) return;
  const events: NewInstanceEvent[] = [];
  for (const change of changes) {
    const { action, before, after } = change;
    if (action in keyActions) continue;
    events.push({ action, workspaceId, before, after, ...(await describeTarget(trx, change)) });
  }
  await appendInstanceEvents(trx, { ...origin, actor }, events);
}

/** What the instance log says about the target of a change, in addition to its workspace. */
async function describeTarget(trx: WorkspaceTrx, change: Change): Promise<Partial<NewInstanceEvent>> {
  const { action, targetId } = change;
  // The casts follow from the kind of the target.
  switch (auditActions[action]) {
    case "member":
      return { userId: targetId as UserId };
    case "key": {
      const keyId = targetId as KeyId;
      const query = trx.selectFrom("api_keys").select("user_id").where("id", "=", keyId);
      return { keyId, userId: (await query.executeTakeFirst())?.user_id };
    }
    case "webhook":
      return withId(change, { webhookId: encodeId("webhook", targetId as WebhookId) });
    case "keyspace":
      return withId(change, { keyspaceId: encodeId("keyspace", targetId as KeyspaceId) });
    case "issued-key":
      return withId(change, { issuedKeyId: encodeId("issuedKey", targetId as IssuedKeyId) });
    case "consumer":
      return withId(change, { consumerId: encodeId("consumer", targetId as ConsumerId) });
    default:
      return {};
  }
}

/** Adds the ID of a target for which the instance log has no column to the values of the change. */
function withId(
  { before, after }: Pick<Change, "before" | "after">,
  id: Details,
): Pick<NewInstanceEvent, "before" | "after"> {
  return before && !after ? { before: { ...before, ...id } } : { after: { ...after, ...id } };
}

/**
 * Notifies a member whose role someone else changed. Emails one notice per workspace and hour, so that an owner can't send a member an
 * unlimited number of emails. The others are shown in the app.
 */
async function addRoleNotice(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { actor }: AuditOrigin,
  { id: eventId, targetId, before, after }: Change & { readonly id: AuditEventId },
): Promise<void> {
  const { workspaceId } = scope;
  const userId = targetId as UserId; // The target of this action is a member.
  if ("userId" in actor && actor.userId === userId) return;
  const { name: workspaceName } = await trx
    .selectFrom("workspaces")
    .select("name")
    .where("id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  const [formerRole, role] = [String(before?.role), String(after?.role)];
  const facts = { workspaceId, workspaceName, formerRole, role };
  const emails = hourlyBucket(`role notices of ${userId} in ${workspaceId}`, 1);
  const isAppOnly = !(await tryConsumeFromBucket(trx, emails));
  await addNotices(trx, [{ kind: "role-changed", userId, subject: eventId, facts, isAppOnly }]);
}
