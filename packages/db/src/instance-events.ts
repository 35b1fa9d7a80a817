import { sql } from "kysely";
import type { Actor, Details, RequestOrigin } from "./audit-actions.ts";
import { createId, type InstanceEventId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import type { InstanceAction, InstanceActorKind } from "./instance-actions.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db, Trx } from "./schema.ts";
import { selectEmail } from "./user-kind.ts";

/** A person in the instance log, with the name and email address of the time of the event. */
export interface LoggedUser {
  readonly id: UserId;
  readonly name: string | null;
  readonly email: string | null;
}

export interface InstanceEvent {
  readonly id: InstanceEventId;
  readonly occurredAt: Date;
  readonly action: InstanceAction;
  readonly actorKind: InstanceActorKind;
  /** Null for the command and the configuration. */
  readonly actor: LoggedUser | null;
  readonly user: LoggedUser | null;
  readonly workspace: { readonly id: WorkspaceId; readonly name: string | null } | null;
  readonly keyId: KeyId | null;
  readonly before: Details | null;
  readonly after: Details | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface NewInstanceEvent {
  readonly action: InstanceAction;
  /** The user that the event is about. The names are copied, so add the event before a deletion. */
  readonly userId?: UserId | undefined;
  /** The workspace that the event is about; the transaction must have entered it. */
  readonly workspaceId?: WorkspaceId | undefined;
  readonly keyId?: KeyId | undefined;
  readonly before?: Details | undefined;
  readonly after?: Details | undefined;
}

/** The origin of a change, or the configuration that a node started with. */
export type InstanceOrigin = Omit<RequestOrigin, "userAgent"> & {
  readonly actor: Actor | { readonly kind: "configuration" };
};

/** Adds an event to the instance log, in the transaction of the change. */
export async function appendInstanceEvent(
  trx: Trx,
  origin: InstanceOrigin,
  event: NewInstanceEvent,
): Promise<void> {
  await appendInstanceEvents(trx, origin, [event]);
}

/** Adds any number of events with one statement, like {@link appendInstanceEvent}. */
export async function appendInstanceEvents(
  trx: Trx,
  { actor, address, requestId }: InstanceOrigin,
  events: readonly NewInstanceEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const toJson = (details: Details | undefined) => (details ? JSON.stringify(details) : null);
  const actorId = "userId" in actor ? actor.userId : null;
  // A backup is recorded as the owner of the database, who may not read workspaces, so only an event with one reads them.
  await sql`
    insert into instance_events (id, action, actor_kind, actor_id, actor_name, actor_email,
      target_user_id, target_user_name, target_user_email, target_workspace_id, target_workspace_name,
      target_key_id, before, after, address, request_id)
    select event.id, event.action, ${actor.kind}, ${actorId}::uuid, actor.name, ${selectEmail("actor")},
      event.user_id, target.name, ${selectEmail("target")}, event.workspace_id,
      case when event.workspace_id is not null then (select name from workspaces where id = event.workspace_id) end,
      event.key_id, event.before, event.after, ${address}, ${requestId}
    from unnest(
      ${events.map(() => createId("instanceEvent"))}::uuid[], ${events.map(({ action }) => action)}::text[],
      ${events.map(({ userId }) => userId ?? null)}::uuid[],
      ${events.map(({ workspaceId }) => workspaceId ?? null)}::uuid[],
      ${events.map(({ keyId }) => keyId ?? null)}::uuid[],
      ${events.map(({ before }) => toJson(before))}::jsonb[], ${events.map(({ after }) => toJson(after))}::jsonb[]
    ) as event (id, action, user_id, workspace_id, key_id, before, after)
    left join users actor on actor.id = ${actorId}::uuid
    left join users target on target.id = event.user_id`.execute(trx);
}

/**
 * Whether a database has an instance log and accepts changes. A database of an early version has none, and a standby
 * doesn't.
 */
export async function canRecordInstanceEvents(db: Db): Promise<boolean> {
  const { rows } = await sql<{ isPossible: boolean }>`
    select to_regclass('instance_events') is not null and not pg_is_in_recovery() as "isPossible"`.execute(
    db,
  );
  return rows[0]?.isPossible === true;
}

export interface InstanceEventFilter {
  readonly action?: InstanceAction | undefined;
  readonly actorId?: UserId | undefined;
  readonly userId?: UserId | undefined;
  readonly workspaceId?: WorkspaceId | undefined;
  /** Only events at or after this time. */
  readonly from?: Date | undefined;
  /** Only events before this time. */
  readonly to?: Date | undefined;
}

const order: Order = { column: "occurred_at", type: "timestamptz", id: "id" };

/** Returns a page of the instance log. Only for operators. */
export async function listInstanceEvents(
  db: Db,
  { filter, ...page }: Page & { readonly filter: InstanceEventFilter },
): Promise<(InstanceEvent & { position: string })[]> {
  const { action, actorId, userId, workspaceId, from, to } = filter;
  let query = db.selectFrom("instance_events").selectAll();
  if (action) query = query.where("action", "=", action);
  if (actorId) query = query.where("actor_id", "=", actorId);
  if (userId) query = query.where("target_user_id", "=", userId);
  if (workspaceId) query = query.where("target_workspace_id", "=", workspaceId);
  if (from) query = query.where("occurred_at", ">=", from);
  if (to) query = query.where("occurred_at", "<", to);
  const rows = await cutPage(query, order, page).execute();
  return rows.map((row) => ({
    id: row.id,
    occurredAt: row.occurred_at,
    action: row.action,
    actorKind: row.actor_kind,
    actor: row.actor_id && { id: row.actor_id, name: row.actor_name, email: row.actor_email },
    user: row.target_user_id && {
      id: row.target_user_id,
      name: row.target_user_name,
      email: row.target_user_email,
    },
    workspace: row.target_workspace_id && { id: row.target_workspace_id, name: row.target_workspace_name },
    keyId: row.target_key_id,
    before: row.before,
    after: row.after,
    address: row.address,
    requestId: row.request_id,
    position: row.position,
  }));
}

/** Records the registration mode of a node that starts, if it isn't the one that was recorded last. The purge keeps that event. */
export async function recordRegistration(db: Db, mode: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Nodes that start at the same time record it once.
    await sql`select pg_advisory_xact_lock(hashtextextended('latchkey registration', 0))`.execute(trx);
    const last = await trx
      .selectFrom("instance_events")
      .select("after")
      .where("action", "=", "registration.changed")
      .orderBy("occurred_at", "desc")
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst();
    const before = last?.after?.registration;
    if (before === mode) return;
    const origin = { actor: { kind: "configuration" }, address: null, requestId: null } as const;
    await appendInstanceEvent(trx, origin, {
      action: "registration.changed",
      ...(before !== undefined && { before: { registration: before } }),
      after: { registration: mode },
    });
  });
}
