import { sql } from "kysely";
import type { Details, KeyAction, Origin } from "./audit-actions.ts";
import { createId, type KeyId, type SecurityEventId, type UserId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db, Trx } from "./schema.ts";

/** A change of one of a user's API keys, as the user sees it. */
export interface SecurityEvent {
  readonly id: SecurityEventId;
  readonly occurredAt: Date;
  readonly action: KeyAction;
  readonly actorKind: Origin["actor"]["kind"];
  /** The key that made the change; null for the web app and the command. */
  readonly actorKeyId: KeyId | null;
  readonly isActorKeyDeleted: boolean;
  readonly keyId: KeyId | null;
  /** The current name of the key; null once it has been purged. */
  readonly keyName: string | null;
  readonly before: Details | null;
  readonly after: Details | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** Adds an event to the security log of a user, in the transaction that makes the change. */
export async function appendSecurityEvent(
  trx: Trx,
  { actor, address, requestId }: Origin,
  event: {
    readonly userId: UserId;
    readonly keyId: KeyId;
    readonly action: KeyAction;
    readonly before?: Details | undefined;
    readonly after?: Details | undefined;
  },
): Promise<void> {
  await trx
    .insertInto("security_events")
    .values({
      user_id: event.userId,
      id: createId("securityEvent"),
      action: event.action,
      actor_kind: actor.kind,
      actor_key_id: actor.kind === "key" ? actor.keyId : null,
      key_id: event.keyId,
      before: event.before ? JSON.stringify(event.before) : null,
      after: event.after ? JSON.stringify(event.after) : null,
      address,
      request_id: requestId,
    })
    .execute();
}

/**
 * Returns in how many seconds, rounded up, a user will have made fewer than `max` changes of API keys within an hour; 0
 * if that holds already. Changes by the command don't count.
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

/** Returns a page of a user's security log. */
export async function listSecurityEvents(
  db: Db,
  userId: UserId,
  { sort, ...page }: Page & { readonly sort: keyof typeof securityEventOrders },
): Promise<(SecurityEvent & { position: string })[]> {
  const query = db
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
      "security_events.request_id as requestId",
    ])
    .where("security_events.user_id", "=", userId);
  return await cutPage(query, securityEventOrders[sort], page).execute();
}
