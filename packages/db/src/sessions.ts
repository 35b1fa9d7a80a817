import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db } from "./schema.ts";

/** A session in force. Whether it is, and what is due, the database's clock decides: the nodes' clocks may differ. */
export interface LiveSession {
  readonly user: { readonly id: UserId; readonly email: string; readonly name: string };
  /** Whether its last renewal is as long ago as it was asked for. */
  readonly isRenewalDue: boolean;
}

/** How long a session lasts without a renewal, and how often one that is used is renewed, in seconds. */
export interface SessionTerms {
  readonly lifetimeSeconds: number;
  readonly renewAfterSeconds: number;
}

/** The session with this token, unless it has expired or its user is disabled. One that has expired is removed. */
export async function findLiveSession(
  db: Db,
  token: string,
  { lifetimeSeconds, renewAfterSeconds }: SessionTerms,
): Promise<LiveSession | undefined> {
  const unrenewedSeconds = lifetimeSeconds - renewAfterSeconds;
  const session = await db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .select([
      "users.id",
      "users.email",
      "users.name",
      (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
      sql<boolean>`sessions.expires_at <= clock_timestamp()`.as("isExpired"),
      sql<boolean>`sessions.expires_at <= clock_timestamp() + make_interval(secs => ${unrenewedSeconds})`.as(
        "isRenewalDue",
      ),
    ])
    .where("sessions.token", "=", token)
    .executeTakeFirst();
  if (session?.isExpired) {
    const isExpired = sql<boolean>`expires_at <= clock_timestamp()`;
    await db.deleteFrom("sessions").where("token", "=", token).where(isExpired).execute();
  }
  if (!session || session.isExpired || session.isDisabled) return undefined;
  const { id, email, name, isRenewalDue } = session;
  return { user: { id, email, name }, isRenewalDue };
}

/** Lets a session last its whole lifetime again; whether it still was in force. */
export async function renewSession(
  db: Db,
  token: string,
  { lifetimeSeconds }: SessionTerms,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("sessions")
    .set({
      expires_at: sql`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`,
      updated_at: sql`clock_timestamp()`,
    })
    .where("token", "=", token)
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
