import { sql } from "kysely";
import type { Actor, AuditAction, auditActions, Details, SystemActor } from "./audit-actions.ts";
import type { AuditEventId, KeyId, UserId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An event of a workspace's audit log. */
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
  /** The owner of the target if it is an API key; null for a purged key in an event of an earlier version. */
  readonly targetOwnerId: UserId | null;
  /** The current name of the owner, or the last one of a deleted user. */
  readonly targetOwnerName: string | null;
  /** Null for a deleted user. */
  readonly targetOwnerKind: UserKind | null;
  readonly before: Details | null;
  readonly after: Details | null;
  readonly address: string | null;
  readonly requestId: string | null;
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

const ownerId = sql<UserId | null>`coalesce(audit_events.target_owner_id, owned_key.user_id)`;

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
      // An event of an earlier version doesn't name the owner.
      .leftJoin("api_keys as owned_key", (join) =>
        join
          .onRef("owned_key.id", "=", "audit_events.target_id")
          .on("audit_events.target_kind", "=", "key")
          .on("audit_events.target_owner_id", "is", null),
      )
      .leftJoin("users as owner", (join) => join.on(sql<boolean>`owner.id = ${ownerId}`))
      .leftJoin("former_users as former_owner", (join) => join.on(sql<boolean>`former_owner.id = ${ownerId}`))
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
        ownerId.as("targetOwnerId"),
        (eb) => eb.fn.coalesce("owner.name", "former_owner.name").as("targetOwnerName"),
        selectUserKind("owner").$castTo<UserKind | null>().as("targetOwnerKind"),
        "audit_events.before",
        "audit_events.after",
        "audit_events.address",
        "audit_events.request_id as requestId",
      ])
      .where("audit_events.workspace_id", "=", scope.workspaceId)
      // Those of a deleted workspace are kept until they are purged.
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom("workspaces")
            .where("workspaces.id", "=", scope.workspaceId)
            .select(sql`1`.as("found")),
        ),
      )
  );
}
