import { sql } from "kysely";
import type { SessionId, UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";
import { hasFactors } from "./second-factors.ts";

/** A session that has not ended by the database's clock, because the clocks of the nodes may differ. */
export interface LiveSession {
  readonly id: SessionId;
  readonly user: { readonly id: UserId; readonly email: string; readonly name: string };
  /** Whether `renewSession` would extend it, and its last renewal was `renewAfterSeconds` ago. */
  readonly isRenewalDue: boolean;
  /** Whether the recorded use is older than {@link useAccuracySeconds}. */
  readonly isUseDue: boolean;
  /** Whether the user authenticated in the last {@link recentAuthenticationSeconds}. */
  readonly isRecentlyAuthenticated: boolean;
  /** Whether the user proved a second factor, at the sign-in or since. */
  readonly hasSecondFactor: boolean;
}

/** How long sessions last, in seconds. */
export interface SessionLifetimes {
  /** Since the sign-in or the last renewal. */
  readonly lifetimeSeconds: number;
  /** Since the sign-in, however often the session is renewed. */
  readonly absoluteLifetimeSeconds: number;
  /** How long after the sign-in or the last renewal a session that is used is renewed. */
  readonly renewAfterSeconds: number;
}

/** How long after the user authenticated a session may make sensitive changes. */
const recentAuthenticationSeconds = 900;

/** How old the recorded use of a session can be. Each record is a write, so not every request makes one. */
const useAccuracySeconds = 300;

/**
 * The session with this token, unless it has expired, its user is disabled, or it was opened without a second factor and
 * its user has one now. A sign-in that was in flight while the factor was added is therefore rejected too. Deletes the
 * session if it has expired.
 */
export async function findLiveSession(
  db: Db,
  token: string,
  { lifetimeSeconds, absoluteLifetimeSeconds, renewAfterSeconds }: SessionLifetimes,
): Promise<LiveSession | undefined> {
  const unrenewedSeconds = lifetimeSeconds - renewAfterSeconds;
  const absoluteEnd = sql<Date>`sessions.created_at + make_interval(secs => ${absoluteLifetimeSeconds})`;
  // A node of an earlier version may have renewed the session beyond its absolute end.
  const endsAt = sql<Date>`least(sessions.expires_at, ${absoluteEnd})`;
  const session = await db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .select([
      "sessions.id as sessionId",
      "users.id",
      "users.email",
      "users.name",
      (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
      sql<boolean>`${endsAt} <= clock_timestamp()`.as("isExpired"),
      sql<boolean>`
        sessions.expires_at <= clock_timestamp() + make_interval(secs => ${unrenewedSeconds})
        and sessions.expires_at < ${absoluteEnd}`.as("isRenewalDue"),
      sql<boolean>`
        sessions.last_used_at is null
        or sessions.last_used_at < clock_timestamp() - make_interval(secs => ${useAccuracySeconds})`.as(
        "isUseDue",
      ),
      sql<boolean>`
        coalesce(sessions.authenticated_at, sessions.created_at)
          > clock_timestamp() - make_interval(secs => ${recentAuthenticationSeconds})`.as(
        "isRecentlyAuthenticated",
      ),
      "sessions.has_second_factor as isProved",
      hasFactors(sql.ref("users.id")).as("hasFactor"),
    ])
    .where("sessions.token", "=", token)
    .executeTakeFirst();
  if (session?.isExpired) {
    // Another request may have renewed it since it was read.
    const isExpired = sql<boolean>`${endsAt} <= clock_timestamp()`;
    await db.deleteFrom("sessions").where("token", "=", token).where(isExpired).execute();
  }
  if (!session || session.isExpired || session.isDisabled) return undefined;
  if (session.hasFactor && !session.isProved) return undefined;
  const { sessionId, id, email, name, isRenewalDue, isUseDue, isRecentlyAuthenticated, hasFactor } = session;
  // A second factor that was removed after the session proved it no longer counts.
  return {
    id: sessionId,
    user: { id, email, name },
    isRenewalDue,
    isUseDue,
    isRecentlyAuthenticated,
    hasSecondFactor: hasFactor,
  };
}

/** Records that a session is used now. @param address null if it is unknown; the former one is then kept. */
export async function recordSessionUse(db: Db, id: SessionId, address: string | null): Promise<void> {
  await db
    .updateTable("sessions")
    .set({
      last_used_at: sql`clock_timestamp()`,
      ...(address !== null && { ip_address: address }),
    })
    .where("id", "=", id)
    .execute();
}

/** Records that the user has just authenticated in a session. */
export async function recordAuthentication(trx: Trx, id: SessionId): Promise<void> {
  await trx
    .updateTable("sessions")
    .set({ authenticated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .execute();
}

/** Records that the user has proved a second factor in a session. */
export async function recordSecondFactor(trx: Trx, id: SessionId): Promise<void> {
  await trx.updateTable("sessions").set({ has_second_factor: true }).where("id", "=", id).execute();
}

/** A session in the list of its user. */
export interface ListedSession {
  readonly id: SessionId;
  readonly createdAt: Date;
  /** Up to five minutes old. */
  readonly lastUsedAt: Date;
  /** The IP address of the last use; null if it is unknown. */
  readonly address: string | null;
  /** The User-Agent of the sign-in. */
  readonly userAgent: string | null;
}

/** Lists a user's sessions that have not ended, the last used one first. */
export async function listSessions(db: Db, userId: UserId): Promise<ListedSession[]> {
  const lastUsedAt = sql<Date>`coalesce(last_used_at, updated_at)`;
  return await db
    .selectFrom("sessions")
    .select([
      "id",
      "created_at as createdAt",
      lastUsedAt.as("lastUsedAt"),
      "ip_address as address",
      "user_agent as userAgent",
    ])
    .where("user_id", "=", userId)
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .orderBy(lastUsedAt, "desc")
    .orderBy("id", "desc")
    .execute();
}

/** Whether a session has not ended. It can end at any time; {@link lockLiveSession} prevents that. */
export async function isSessionLive(db: Db, id: SessionId): Promise<boolean> {
  const session = await db
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", id)
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .executeTakeFirst();
  return session !== undefined;
}

/**
 * Whether a session has not ended. If so, it can't end before the transaction does: sign-out waits for the change. Lock
 * the user first, as transactions that end sessions do. A session without a second factor has ended if its user has one
 * now, as in {@link findLiveSession}.
 */
export async function lockLiveSession(trx: Trx, id: SessionId): Promise<boolean> {
  const session = await trx
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", id)
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .where(sql<boolean>`(has_second_factor or not ${hasFactors(sql.ref("sessions.user_id"))})`)
    .forKeyShare()
    .executeTakeFirst();
  return session !== undefined;
}

/**
 * Ends sessions of a user, which no node accepts once this is committed.
 * @param which one session, all of them except one, or all.
 * @returns how many ended.
 */
export async function endSessions(
  trx: Trx,
  userId: UserId,
  which: { readonly id: SessionId } | { readonly except: SessionId } | "all",
): Promise<number> {
  let query = trx.deleteFrom("sessions").where("user_id", "=", userId);
  if (which !== "all") {
    query = "id" in which ? query.where("id", "=", which.id) : query.where("id", "<>", which.except);
  }
  const { numDeletedRows } = await query.executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Extends a session by its whole lifetime, but not beyond its absolute end.
 * @returns how many whole seconds it lasts from now; undefined if it has ended.
 */
export async function renewSession(
  db: Db,
  token: string,
  { lifetimeSeconds, absoluteLifetimeSeconds }: SessionLifetimes,
): Promise<number | undefined> {
  const absoluteEnd = sql<Date>`created_at + make_interval(secs => ${absoluteLifetimeSeconds})`;
  const renewed = await db
    .updateTable("sessions")
    .set({
      expires_at: sql`least(now() + make_interval(secs => ${lifetimeSeconds}), ${absoluteEnd})`,
      updated_at: sql`now()`,
    })
    .where("token", "=", token)
    .where(sql<boolean>`least(expires_at, ${absoluteEnd}) > clock_timestamp()`)
    .returning(sql<number>`floor(extract(epoch from expires_at - now()))::integer`.as("seconds"))
    .executeTakeFirst();
  return renewed?.seconds;
}

/** Ends the user's oldest sessions, so that at most `maxSessions` that have not expired are left. */
export async function endOldestSessions(db: Db, userId: UserId, maxSessions: number): Promise<void> {
  const surplus = db
    .selectFrom("sessions")
    .select("id")
    .where("user_id", "=", userId)
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .offset(maxSessions);
  await db.deleteFrom("sessions").where("id", "in", surplus).execute();
}
