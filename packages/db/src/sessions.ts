import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db } from "./schema.ts";

/** A session that has not ended by the database's clock, because the clocks of the nodes may differ. */
export interface LiveSession {
  readonly user: { readonly id: UserId; readonly email: string; readonly name: string };
  /** Whether `renewSession` would extend it, and its last renewal was `renewAfterSeconds` ago. */
  readonly isRenewalDue: boolean;
}

/** How long sessions last, in seconds. */
export interface SessionTerms {
  /** Since the sign-in or the last renewal. */
  readonly lifetimeSeconds: number;
  /** Since the sign-in, however often the session is renewed. */
  readonly absoluteLifetimeSeconds: number;
  /** How long after the sign-in or the last renewal a session that is used is renewed. */
  readonly renewAfterSeconds: number;
}

/** The session with this token, unless it has expired or its user is disabled. Deletes it if it has expired. */
export async function findLiveSession(
  db: Db,
  token: string,
  { lifetimeSeconds, absoluteLifetimeSeconds, renewAfterSeconds }: SessionTerms,
): Promise<LiveSession | undefined> {
  const unrenewedSeconds = lifetimeSeconds - renewAfterSeconds;
  const absoluteEnd = sql<Date>`sessions.created_at + make_interval(secs => ${absoluteLifetimeSeconds})`;
  // A node of an earlier version may have renewed the session beyond its absolute end.
  const endsAt = sql<Date>`least(sessions.expires_at, ${absoluteEnd})`;
  const session = await db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .select([
      "users.id",
      "users.email",
      "users.name",
      (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
      sql<boolean>`${endsAt} <= clock_timestamp()`.as("isExpired"),
      sql<boolean>`
        sessions.expires_at <= clock_timestamp() + make_interval(secs => ${unrenewedSeconds})
        and sessions.expires_at < ${absoluteEnd}`.as("isRenewalDue"),
    ])
    .where("sessions.token", "=", token)
    .executeTakeFirst();
  if (session?.isExpired) {
    // Another request may have renewed it since it was read.
    const isExpired = sql<boolean>`${endsAt} <= clock_timestamp()`;
    await db.deleteFrom("sessions").where("token", "=", token).where(isExpired).execute();
  }
  if (!session || session.isExpired || session.isDisabled) return undefined;
  const { id, email, name, isRenewalDue } = session;
  return { user: { id, email, name }, isRenewalDue };
}

/**
 * Extends a session by its whole lifetime, but not beyond its absolute end.
 * @returns how many whole seconds it lasts from now; undefined if it has ended.
 */
export async function renewSession(
  db: Db,
  token: string,
  { lifetimeSeconds, absoluteLifetimeSeconds }: SessionTerms,
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
