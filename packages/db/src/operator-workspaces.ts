import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { WorkspaceId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db } from "./schema.ts";

/** A workspace as operators see it: what identifies it, and how large it is. */
export interface WorkspaceOverview {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly slug: string;
  readonly createdAt: Date;
  readonly isDisabled: boolean;
  /** People; service accounts are counted separately. */
  readonly memberCount: number;
  readonly serviceAccountCount: number;
  /** API keys that can reach the workspace; at most {@link maxCounted}. */
  readonly keyCount: number;
  /** Events in the audit log; at most {@link maxCounted}. */
  readonly auditEventCount: number;
  /** The requests in the workspace in the last seven days, whatever their outcome. */
  readonly recentRequestCount: number;
}

/**
 * Where counting stops, except to sort: a page of 50 workspaces that all have as many events takes 70 ms on two cores of an
 * Intel Xeon. Otherwise, the time would grow with the largest audit logs.
 */
export const maxCounted = 10_000;

const recentDays = 7;

export const workspaceOverviewOrders = {
  createdAt: { column: "workspaces.created_at", type: "timestamptz", id: "workspaces.id" },
  name: { column: "workspaces.name", type: "text", id: "workspaces.id" },
  slug: { column: "workspaces.slug", type: "text", id: "workspaces.id" },
  memberCount: { column: "workspaces.member_count", type: "bigint", id: "workspaces.id" },
  keyCount: { column: "workspaces.key_count", type: "bigint", id: "workspaces.id" },
} as const satisfies Record<string, Order>;

export interface WorkspaceOverviewFilter {
  /** A part of a name or a slug, in any letter case. */
  readonly search: string;
  /** Replaces the search. */
  readonly id?: WorkspaceId | undefined;
  readonly isDisabled?: boolean | undefined;
}

/**
 * Returns a page of the workspaces of the instance. Only for operators.
 *
 * Sizes change between two pages. In an order of sizes, a workspace whose size changes in the meantime can move across the
 * end of a page that has been read: it is then on two pages, or on none. All other workspaces are on exactly one page.
 * @param db a connection in the admission role, the only role that can see the workspaces of all tenants.
 */
export async function listWorkspaceOverviews(
  db: Db,
  {
    sort,
    filter,
    ...page
  }: Page & {
    readonly sort: keyof typeof workspaceOverviewOrders;
    readonly filter: WorkspaceOverviewFilter;
  },
): Promise<(WorkspaceOverview & { position: string })[]> {
  const order = workspaceOverviewOrders[sort];
  // The page is cut before the sizes are counted, so that only those of its rows are.
  const workspaces = cutPage(
    db
      .selectFrom(selectSortable(db, filter).as("workspaces"))
      .select([
        "id",
        "name",
        "slug",
        "created_at",
        "disabled_at",
        sql<unknown>`${sql.ref(order.column)}`.as("sort_value"),
      ]),
    order,
    page,
  ).as("workspaces");
  const direction = sql.raw(page.direction);
  const sortCount = sql<number>`workspaces.sort_value`;
  const serviceAccountCount = sql<number>`(
    select count(*) from users
    join members on members.user_id = users.id and members.workspace_id = workspaces.id
    where users.service_workspace_id = workspaces.id)`;
  const memberCount = sql<number>`(
    (select count(*) from members where members.workspace_id = workspaces.id) - ${serviceAccountCount})`;
  const keyCount = countUpTo(sql`
    from members join api_keys key on key.user_id = members.user_id
    where members.workspace_id = workspaces.id and ${reaches(sql`workspaces.id`)}`);
  return await db
    .selectFrom(workspaces)
    .select([
      "workspaces.id",
      "workspaces.name",
      "workspaces.slug",
      "workspaces.created_at as createdAt",
      sql<boolean>`workspaces.disabled_at is not null`.as("isDisabled"),
      "workspaces.position",
      // The page of the largest workspaces would otherwise count most of the rows a second time.
      (sort === "memberCount" ? sortCount : memberCount).as("memberCount"),
      serviceAccountCount.as("serviceAccountCount"),
      (sort === "keyCount" ? sql<number>`least(${sortCount}, ${maxCounted}::bigint)` : keyCount).as(
        "keyCount",
      ),
      countUpTo(sql`from audit_events event where event.workspace_id = workspaces.id`).as("auditEventCount"),
      sql<number>`(
        select coalesce(sum(count), 0)::bigint from workspace_usage_hours hours
        where hours.workspace_id = workspaces.id and hours.hour > now() - make_interval(days => ${recentDays}))`.as(
        "recentRequestCount",
      ),
    ])
    .orderBy(sql`workspaces.sort_value ${direction}, workspaces.id ${direction}`)
    .execute();
}

/**
 * Selects the matching workspaces with all columns that they can be sorted by. Postgres leaves out a join whose columns
 * aren't used. To sort by a size, it counts that size for all workspaces in one pass over memberships and keys, because
 * counting for one workspace after another takes five times as long.
 */
function selectSortable(db: Db, filter: WorkspaceOverviewFilter) {
  const people = sql<{ workspace_id: WorkspaceId; count: number }>`(
    select members.workspace_id, count(*) from members
    where not exists (
      select from users where users.id = members.user_id and users.service_workspace_id is not null)
    group by members.workspace_id)`;
  const keys = sql<{ workspace_id: WorkspaceId; count: number }>`(
    select members.workspace_id, count(*) from members join api_keys key on key.user_id = members.user_id
    where ${reaches(sql`members.workspace_id`)}
    group by members.workspace_id)`;
  return db
    .selectFrom("workspaces")
    .leftJoin(people.as<"people">(sql`people`), "people.workspace_id", "workspaces.id")
    .leftJoin(keys.as<"keys">(sql`keys`), "keys.workspace_id", "workspaces.id")
    .select([
      "workspaces.id",
      "workspaces.name",
      "workspaces.slug",
      "workspaces.created_at",
      "workspaces.disabled_at",
      sql<number>`coalesce(people.count, 0)`.as("member_count"),
      sql<number>`coalesce(keys.count, 0)`.as("key_count"),
    ])
    .where(matches(filter));
}

/** Whether `key`, a key of a member, can reach a workspace. */
function reaches(workspaceId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(key.deleted_at is null
    and (key.workspace_ids is null or ${workspaceId} = any(key.workspace_ids)))`;
}

function countUpTo(source: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`(select count(*) from (select ${source} limit ${maxCounted}) counted)`;
}

/** @param db as for {@link listWorkspaceOverviews}. */
export async function countWorkspaceOverviews(db: Db, filter: WorkspaceOverviewFilter): Promise<number> {
  const { count } = await db
    .selectFrom("workspaces")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ search, id, isDisabled }: WorkspaceOverviewFilter): RawBuilder<boolean> {
  const conditions = [
    isDisabled === undefined ? [] : sql`(workspaces.disabled_at is not null) = ${isDisabled}`,
    // A search can't contain the separator.
    id
      ? sql`workspaces.id = ${id}`
      : search === ""
        ? []
        : containsText(sql`workspaces.name || chr(31) || workspaces.slug`, search),
  ].flat();
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}
