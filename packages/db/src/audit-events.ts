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
  type SystemActor,
} from "./audit-actions.ts";
import { type AuditEventId, createId, encodeId, type KeyId, type UserId, type WebhookId } from "./ids.ts";
import { appendInstanceEvent, type NewInstanceEvent } from "./instance-events.ts";
import { addNotices } from "./notices.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
import { addDeliveries } from "./webhook-deliveries.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

export interface AuditEvent {
  readonly id: AuditEventId;
  readonly occurredAt: Date;
  readonly action: AuditAction;
  readonly actorKind: (Actor | SystemActor)["kind"];
  readonly actorUserId: UserId | null;
  /** The current name of that user, or the last one of a deleted user; null for the command and the system. */
  readonly actorName: string | null;
  readonly actorUserKind: UserKind | null;
  readonly actorKeyId: KeyId | null;
  readonly targetKind: (typeof auditActions)[AuditAction];
  readonly targetId: string;
  /**
   * The current name of the target if it is a user or an API key that still exists, or the last name of a deleted user;
   * null otherwise.
   */
  readonly targetName: string | null;
  /** The kind of the target if it is a user. */
  readonly targetUserKind: UserKind | null;
  readonly before: Details | null;
  readonly after: Details | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

/**
 * Adds a change to the audit log of its workspace, in the transaction that makes the change, and its deliveries to
 * webhooks. A change by an operator is added to the instance log too, except for one that `appendSecurityEvent` adds
 * once for all workspaces of a key.
 */
export async function appendAudit(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  origin: AuditOrigin,
  change: Change,
): Promise<void> {
  const { actor, address, requestId } = origin;
  const id = createId("auditEvent");
  await trx
    .insertInto("audit_events")
    .values({
      workspace_id: scope.workspaceId,
      id,
      action: change.action,
      actor_kind: actor.kind,
      actor_user_id: "userId" in actor ? actor.userId : null,
      actor_key_id: actor.kind === "key" ? actor.keyId : null,
      target_kind: auditActions[change.action],
      target_id: change.targetId,
      before: change.before ? JSON.stringify(change.before) : null,
      after: change.after ? JSON.stringify(change.after) : null,
      address,
      request_id: requestId,
    })
    .execute();
  await addDeliveries(trx, scope, { id, action: change.action });
  if (change.action === "member.role-changed") await addRoleNotice(trx, scope, origin, { ...change, id });
  if (actor.kind === "system" || !isOperatorActing(actor) || change.action in keyActions) return;
  const { workspaceId } = scope;
  const { action, before, after } = change;
  const event = { action, workspaceId, before, after, ...(await describeTarget(trx, change)) };
  await appendInstanceEvent(trx, { ...origin, actor }, event);
}

/** What the instance log says about the target of a change, in addition to its workspace. */
async function describeTarget(
  trx: WorkspaceTrx,
  { action, targetId, before, after }: Change,
): Promise<Partial<NewInstanceEvent>> {
  // The casts follow from the kind of the target.
  switch (auditActions[action]) {
    case "member":
      return { userId: targetId as UserId };
    case "key": {
      const keyId = targetId as KeyId;
      const query = trx.selectFrom("api_keys").select("user_id").where("id", "=", keyId);
      return { keyId, userId: (await query.executeTakeFirst())?.user_id };
    }
    case "webhook": {
      const webhookId = encodeId("webhook", targetId as WebhookId);
      return before && !after ? { before: { ...before, webhookId } } : { after: { ...after, webhookId } };
    }
    default:
      return {};
  }
}

/** Gives notice to a member whose role someone else changed. */
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
  await addNotices(trx, [{ kind: "role-changed", userId, subject: eventId, facts }]);
}

export const auditOrders = {
  occurredAt: { column: "audit_events.occurred_at", type: "timestamptz", id: "audit_events.id" },
} as const satisfies Record<string, Order>;

export interface AuditFilter {
  readonly action?: AuditAction | undefined;
  readonly actorUserId?: UserId | undefined;
  /** The UUID of a user, an API key, an invitation or the workspace. */
  readonly targetId?: string | undefined;
  /** Only events at or after this time. */
  readonly from?: Date | undefined;
  /** Only events before this time. */
  readonly to?: Date | undefined;
}

/** Returns a page of a workspace's audit log. */
export async function listAuditEvents(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { sort, filter, ...page }: Page & { readonly sort: keyof typeof auditOrders; readonly filter: AuditFilter },
): Promise<(AuditEvent & { position: string })[]> {
  let query = selectAuditEvents(trx, scope);
  if (filter.action) query = query.where("audit_events.action", "=", filter.action);
  if (filter.actorUserId) query = query.where("audit_events.actor_user_id", "=", filter.actorUserId);
  if (filter.targetId) query = query.where("audit_events.target_id", "=", filter.targetId);
  if (filter.from) query = query.where("audit_events.occurred_at", ">=", filter.from);
  if (filter.to) query = query.where("audit_events.occurred_at", "<", filter.to);
  return await cutPage(query, auditOrders[sort], page).execute();
}

export async function findAuditEvent(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: AuditEventId,
): Promise<AuditEvent | undefined> {
  return await selectAuditEvents(trx, scope).where("audit_events.id", "=", id).executeTakeFirst();
}

/** Selects the events of a workspace, with the current names of actors and targets. */
function selectAuditEvents(trx: WorkspaceTrx, scope: WorkspaceScope) {
  return (
    trx
      .selectFrom("audit_events")
      .leftJoin("users", "users.id", "audit_events.actor_user_id")
      .leftJoin("former_users as former_actor", "former_actor.id", "audit_events.actor_user_id")
      .leftJoin("users as target", (join) =>
        join.onRef("target.id", "=", "audit_events.target_id").on("audit_events.target_kind", "=", "member"),
      )
      .leftJoin("former_users as former_target", (join) =>
        join
          .onRef("former_target.id", "=", "audit_events.target_id")
          .on("audit_events.target_kind", "=", "member"),
      )
      // The current name of a key is shown only while the key can reach the workspace.
      .leftJoin("api_keys as target_key", (join) =>
        join
          .onRef("target_key.id", "=", "audit_events.target_id")
          .on("audit_events.target_kind", "=", "key")
          .on(
            sql<boolean>`(target_key.workspace_ids is null or ${scope.workspaceId} = any(target_key.workspace_ids))`,
          )
          .on((eb) =>
            eb.exists(
              eb
                .selectFrom("members")
                .whereRef("members.user_id", "=", "target_key.user_id")
                .where("members.workspace_id", "=", scope.workspaceId)
                .select(sql`1`.as("found")),
            ),
          ),
      )
      .select([
        "audit_events.id",
        "audit_events.occurred_at as occurredAt",
        "audit_events.action",
        "audit_events.actor_kind as actorKind",
        "audit_events.actor_user_id as actorUserId",
        (eb) => eb.fn.coalesce("users.name", "former_actor.name").as("actorName"),
        selectUserKind().$castTo<UserKind | null>().as("actorUserKind"),
        "audit_events.actor_key_id as actorKeyId",
        "audit_events.target_kind as targetKind",
        "audit_events.target_id as targetId",
        (eb) => eb.fn.coalesce("target.name", "former_target.name", "target_key.name").as("targetName"),
        selectUserKind("target").$castTo<UserKind | null>().as("targetUserKind"),
        "audit_events.before",
        "audit_events.after",
        "audit_events.address",
        "audit_events.request_id as requestId",
      ])
      .where("audit_events.workspace_id", "=", scope.workspaceId)
  );
}
