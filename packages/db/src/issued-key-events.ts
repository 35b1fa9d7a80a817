import { sql } from "kysely";
import type { AuditEvent } from "./audit-log.ts";
import type { IssuedKeyId } from "./ids.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** A change to an issued key, without the request that made it. */
export type IssuedKeyEvent = Pick<
  AuditEvent,
  "id" | "occurredAt" | "action" | "actorKind" | "actorName" | "actorUserKind" | "before" | "after"
>;

/** The most changes that {@link listIssuedKeyEvents} returns. */
export const maxIssuedKeyEvents = 100;
/** The most changes that are examined for those of credits. */
const maxExaminedEvents = 1_000;

/**
 * The latest changes to an issued key, newest first, found by an index. With `hasCredits`, only those that set or changed its
 * credits, among its latest 1,000 changes.
 */
export async function listIssuedKeyEvents(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { id, hasCredits }: { readonly id: IssuedKeyId; readonly hasCredits: boolean },
): Promise<IssuedKeyEvent[]> {
  const latest = trx
    .selectFrom("audit_events")
    .select(["id", "occurred_at", "action", "actor_kind", "actor_user_id", "target_id", "before", "after"])
    .where("workspace_id", "=", workspaceId)
    // A range and this order, which only the index on targets has. For a key with many of the workspace's events, the planner
    // would otherwise read the newest events of the workspace, however many are about others.
    .where(sql<boolean>`target_id between ${id}::uuid and ${id}::uuid`)
    .orderBy("target_id", "desc")
    .orderBy("occurred_at", "desc")
    .orderBy("id", "desc")
    .limit(hasCredits ? maxExaminedEvents : maxIssuedKeyEvents);
  let query = trx
    .selectFrom(latest.as("event"))
    .leftJoin("users", "users.id", "event.actor_user_id")
    .leftJoin("former_users", "former_users.id", "event.actor_user_id")
    .select([
      "event.id",
      "event.occurred_at as occurredAt",
      "event.action",
      "event.actor_kind as actorKind",
      (eb) => eb.fn.coalesce("users.name", "former_users.name").as("actorName"),
      selectUserKind().$castTo<UserKind | null>().as("actorUserKind"),
      "event.before",
      "event.after",
    ])
    .orderBy("event.occurred_at", "desc")
    .orderBy("event.id", "desc")
    .limit(maxIssuedKeyEvents);
  // A key that was issued without credits has null.
  if (hasCredits) {
    query = query.where(
      sql<boolean>`(event.after ->> 'credits' is not null
        or event.action = 'issued-key.changed' and jsonb_exists(event.after, 'credits'))`,
    );
  }
  return await query.execute();
}
