import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { UserId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db } from "./schema.ts";
import { isPerson } from "./user-kind.ts";
import type { User } from "./users.ts";

/** A user as operators see them. */
export interface UserOverview extends User {
  /** Null if the user has never signed in, or not since sign-ins are recorded. */
  readonly lastSignInAt: Date | null;
  /** The number of API keys that have not been deleted. */
  readonly keyCount: number;
  /** Whether no other operator can sign in, so that this one keeps the role. */
  readonly isOnlyOperator: boolean;
}

export const userOverviewOrders = {
  createdAt: { column: "users.created_at", type: "timestamptz", id: "users.id" },
  name: { column: "users.name", type: "text", id: "users.id" },
  email: { column: "users.email", type: "text", id: "users.id" },
} as const satisfies Record<string, Order>;

export interface UserOverviewFilter {
  /** A part of a name or an email address, in any letter case. */
  readonly search: string;
  /** Replaces the search. */
  readonly id?: UserId | undefined;
  readonly isDisabled?: boolean | undefined;
  readonly isOperator?: boolean | undefined;
}

/** Returns a page of the people who use the instance. Only for operators. */
export async function listUserOverviews(
  db: Db,
  {
    sort,
    filter,
    ...page
  }: Page & {
    readonly sort: keyof typeof userOverviewOrders;
    readonly filter: UserOverviewFilter;
  },
): Promise<(UserOverview & { position: string })[]> {
  // The page is cut before its rows are completed, so that only their sign-ins and keys are read.
  const users = cutPage(
    db
      .selectFrom("users")
      .select(["id", "name", "email", "is_operator", "disabled_at", "created_at"])
      .where(isPerson())
      .where(matches(filter)),
    userOverviewOrders[sort],
    page,
  ).as("users");
  const direction = sql.raw(page.direction);
  const { column } = userOverviewOrders[sort];
  return await db
    .selectFrom(users)
    .select([
      "users.id",
      "users.name",
      "users.email",
      "users.is_operator as isOperator",
      "users.created_at as createdAt",
      "users.position",
      (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
      sql<Date | null>`(
        select occurred_at from security_events event
        where event.user_id = users.id and event.action = 'sign-in.succeeded'
        order by occurred_at desc limit 1)`.as("lastSignInAt"),
      sql<number>`(
        select count(*) from api_keys key where key.user_id = users.id and key.deleted_at is null)`.as(
        "keyCount",
      ),
      sql<boolean>`(users.is_operator and users.disabled_at is null and not exists (
        select from users other
        where other.is_operator and other.disabled_at is null and other.id <> users.id))`.as(
        "isOnlyOperator",
      ),
    ])
    .orderBy(sql`${sql.ref(column)} ${direction}, users.id ${direction}`)
    .execute();
}

export async function countUserOverviews(db: Db, filter: UserOverviewFilter): Promise<number> {
  const { count } = await db
    .selectFrom("users")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(isPerson())
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ search, id, isDisabled, isOperator }: UserOverviewFilter): RawBuilder<boolean> {
  const conditions = [
    isDisabled === undefined ? [] : sql`(users.disabled_at is not null) = ${isDisabled}`,
    isOperator === undefined ? [] : sql`users.is_operator = ${isOperator}`,
    // A search can't contain the separator.
    id
      ? sql`users.id = ${id}`
      : search === ""
        ? []
        : containsText(sql`users.name || chr(31) || users.email`, search),
  ].flat();
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/**
 * Counts the workspaces of each user.
 * @param db a connection in the admission role, the only role that can see the memberships of several users.
 */
export async function countMemberships(
  db: Db,
  userIds: readonly UserId[],
): Promise<ReadonlyMap<UserId, number>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("members")
    .select(["user_id", (eb) => eb.fn.countAll<number>().as("count")])
    .where("user_id", "in", userIds)
    .groupBy("user_id")
    .execute();
  return new Map(rows.map(({ user_id, count }) => [user_id, count]));
}
