import { sql } from "kysely";
import {
  type AccountAction,
  type Details,
  isOperatorActing,
  type KeyAction,
  type Origin,
  type RequestOrigin,
} from "./audit-actions.ts";
import { createId, type KeyId, type SecurityEventId, type UserId } from "./ids.ts";
import { appendInstanceEvents } from "./instance-events.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db, Trx } from "./schema.ts";
import { isForeignKeyViolation } from "./sqlstate.ts";

/** An event of a user's account or of one of their API keys, as the user sees it. */
export interface SecurityEvent {
  readonly id: SecurityEventId;
  readonly occurredAt: Date;
  readonly action: KeyAction | AccountAction;
  /** `session` for a failed sign-in too, although anyone can have made it. */
  readonly actorKind: Origin["actor"]["kind"];
  /** The key that made the change; null for the web app and the command. */
  readonly actorKeyId: KeyId | null;
  readonly isActorKeyDeleted: boolean;
  readonly keyId: KeyId | null;
  /** The current name of the key; null once it has been purged. */
  readonly keyName: string | null;
  readonly before: Details | null;
  readonly after: Details | null;
  /** Null for changes by an operator or the command, and if it is unknown. */
  readonly address: string | null;
  /** Null for changes by an operator or the command, and for most events of earlier versions. */
  readonly userAgent: string | null;
  readonly requestId: string | null;
}

type NewSecurityEvent = {
  readonly userId: UserId;
  readonly before?: Details | undefined;
  readonly after?: Details | undefined;
} & (
  | { readonly action: KeyAction; readonly keyId: KeyId }
  | { readonly action: AccountAction; readonly keyId?: undefined }
);

/**
 * Adds an event to the security log of a user, in the transaction that makes the change. A change by an operator
 * is added to the instance log too.
 */
export async function appendSecurityEvent(trx: Trx, origin: Origin, event: NewSecurityEvent): Promise<void> {
  await appendSecurityEvents(trx, origin, [event]);
}

/** Records any number of events with one statement, like {@link appendSecurityEvent}. */
export async function appendSecurityEvents(
  trx: Trx,
  origin: Origin,
  events: readonly NewSecurityEvent[],
): Promise<void> {
  const { actor, address, requestId, userAgent = null } = origin;
  const isOperator = isOperatorActing(actor);
  if (isOperator) await appendInstanceEvents(trx, origin, events);
  // Sessions in this log are the user's own.
  const actorKind = isOperator ? "command" : actor.kind;
  const actorKeyId = actor.kind === "key" ? actor.keyId : null;
  // A user doesn't see the IP address or device of an operator. The instance log has the IP address.
  const source = isOperator ? { address: null, userAgent: null } : { address, userAgent };
  await sql`
    insert into security_events (user_id, id, action, actor_kind, actor_key_id, key_id, before, after, address,
      user_agent, request_id)
    select event.user_id, event.id, event.action, ${actorKind}, ${actorKeyId}::uuid, event.key_id, event.before,
      event.after, ${source.address}, ${source.userAgent}, ${requestId}
    from unnest(
      ${events.map(({ userId }) => userId)}::uuid[], ${events.map(() => createId("securityEvent"))}::uuid[],
      ${events.map(({ action }) => action)}::text[], ${events.map(({ keyId }) => keyId)}::uuid[],
      ${events.map(({ before }) => before && JSON.stringify(before))}::jsonb[],
      ${events.map(({ after }) => after && JSON.stringify(after))}::jsonb[]
    ) as event (user_id, id, action, key_id, before, after)`.execute(trx);
}

/**
 * Adds a failed sign-in to the security log of the user with this email address, if there is one. It takes equally long
 * without one: the commit doesn't wait for the disk, so the event can be lost if Postgres is killed.
 * @param email in lower case.
 */
export async function appendFailedSignIn(db: Db, email: string, request: RequestOrigin): Promise<void> {
  const append = db.transaction().execute(async (trx) => {
    await sql`set local synchronous_commit = off`.execute(trx);
    await sql`
      insert into security_events (user_id, id, action, actor_kind, address, user_agent, request_id)
      select id, ${createId("securityEvent")}, 'sign-in.failed', 'session', ${request.address},
        ${request.userAgent ?? null}, ${request.requestId}
      from users where email = ${email}`.execute(trx);
  });
  await append.catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error; // The user was deleted concurrently.
  });
}

/**
 * Returns in how many seconds, rounded up, a user will have made fewer than `max` changes to API keys within an hour; 0
 * if that is already true. Changes by the command don't count.
 */
export async function findKeyChangeWait(trx: Trx, userId: UserId, max: number): Promise<number> {
  const now = sql<Date>`statement_timestamp()`;
  const row = await trx
    .selectFrom("security_events")
    .select((eb) =>
      sql<number>`ceil(extract(epoch from ${eb.ref("occurred_at")} + interval '1 hour' - ${now}))::int`.as(
        "waitSeconds",
      ),
    )
    .where("user_id", "=", userId)
    .where("occurred_at", ">", sql<Date>`${now} - interval '1 hour'`)
    .where("key_id", "is not", null)
    .where("actor_kind", "<>", "command")
    .orderBy("occurred_at", "desc")
    .offset(max - 1)
    .limit(1)
    .executeTakeFirst();
  return row ? Math.max(1, row.waitSeconds) : 0;
}

export const securityEventOrders = {
  occurredAt: { column: "security_events.occurred_at", type: "timestamptz", id: "security_events.id" },
} as const satisfies Record<string, Order>;

export interface SecurityEventFilter {
  readonly action?: SecurityEvent["action"] | undefined;
  /** Only events at or after this time. */
  readonly from?: Date | undefined;
  /** Only events before this time. */
  readonly to?: Date | undefined;
}

/** Returns a page of a user's security log. */
export async function listSecurityEvents(
  db: Db,
  userId: UserId,
  {
    sort,
    filter: { action, from, to } = {},
    ...page
  }: Page & { readonly sort: keyof typeof securityEventOrders; readonly filter?: SecurityEventFilter },
): Promise<(SecurityEvent & { position: string })[]> {
  let query = db
    .selectFrom("security_events")
    .leftJoin("api_keys", "api_keys.id", "security_events.key_id")
    .leftJoin("api_keys as actor_keys", "actor_keys.id", "security_events.actor_key_id")
    .select([
      (eb) =>
        // A purged key has no row.
        eb("actor_keys.deleted_at", "is not", null)
          .or(eb("security_events.actor_key_id", "is not", null).and("actor_keys.id", "is", null))
          .$castTo<boolean>()
          .as("isActorKeyDeleted"),
      "security_events.id",
      "security_events.occurred_at as occurredAt",
      "security_events.action",
      "security_events.actor_kind as actorKind",
      "security_events.actor_key_id as actorKeyId",
      "security_events.key_id as keyId",
      "api_keys.name as keyName",
      "security_events.before",
      "security_events.after",
      "security_events.address",
      "security_events.user_agent as userAgent",
      "security_events.request_id as requestId",
    ])
    .where("security_events.user_id", "=", userId);
  if (action) query = query.where("security_events.action", "=", action);
  if (from) query = query.where("security_events.occurred_at", ">=", from);
  if (to) query = query.where("security_events.occurred_at", "<", to);
  return await cutPage(query, securityEventOrders[sort], page).execute();
}
