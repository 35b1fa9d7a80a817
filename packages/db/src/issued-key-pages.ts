import { type RawBuilder, sql } from "kysely";
import { type BoundedList, type FoundPage, findBoundedPage } from "./bounded-page.ts";
import type { KeyspaceId } from "./ids.ts";
import { type IssuedKeyStatusFilter, isExpired, statusOf } from "./issued-key-status.ts";
import { days30 } from "./key-status.ts";
import type { Order, Page } from "./page.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

export interface IssuedKeyFilter {
  /** The first part of a name, in any letter case. */
  readonly name?: string | undefined;
  /** The first part of a name, in any letter case, or what `start` can be. */
  readonly search?: string | undefined;
  readonly externalId?: string | undefined;
  readonly status?: IssuedKeyStatusFilter | undefined;
  /** The first characters of the secret, or of a former secret that is still valid. */
  readonly start?: string | undefined;
  /** A permission of the key, as it is stored. A wildcard doesn't match other permissions. */
  readonly permission?: string | undefined;
}

/** Each order has an index. A key that never expires comes last. */
export const issuedKeyOrders = {
  createdAt: { column: "listed.created_at", type: "timestamptz", id: "listed.id" },
  name: { column: "listed.name_search", type: "text", id: "listed.id" },
  expiresAt: { column: "listed.listed_expiry", type: "timestamptz", id: "listed.id" },
} as const satisfies Record<string, Order>;

export interface IssuedKeyQuery {
  readonly keyspaceId: KeyspaceId;
  readonly sort: keyof typeof issuedKeyOrders;
  readonly filter: IssuedKeyFilter;
}

/** The columns of `issued_keys` that lists filter and sort by. */
const columns = sql.raw(`
  listed.id, listed.created_at, listed.name_search, listed.listed_expiry, listed.start, listed.consumer_id,
  listed.permissions, listed.disabled_at, listed.expires_at, listed.refill`);

/**
 * A filter: its condition, and how keys that match it are found by an index. Row-level security allows an index only for
 * operators that can't reveal values of other rows, such as comparisons and `^@`.
 */
interface Filter {
  readonly condition: RawBuilder<unknown>;
  /** The IDs of at most this many matching keys, which an index finds; undefined without an index. */
  readonly matching?: (limit: number) => RawBuilder<{ id: string }>;
  /** Whether checking the condition looks up another row, or reading the keys in order does. */
  readonly looksUpRows?: "always" | "in-order";
  /** For the order in which an index has the matching keys: the rows, cut by conditions and a sort order. */
  readonly ordered?: {
    readonly sort: IssuedKeyQuery["sort"];
    readonly rows: (cut: RawBuilder<unknown>) => RawBuilder<unknown>;
  };
}

/** Keys of the keyspace that a condition matches, cut by further conditions and a sort order. */
type ByCondition = (condition: RawBuilder<unknown>) => (cut: RawBuilder<unknown>) => RawBuilder<unknown>;

/** The IDs of at most some keys that a condition matches. */
type Matching = (condition: RawBuilder<unknown>) => (limit: number) => RawBuilder<{ id: string }>;

/** Finds the keys of a page of a keyspace's keys, in bounded time. */
export async function findIssuedKeyPage(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, sort, filter, ...page }: Page & IssuedKeyQuery,
): Promise<FoundPage> {
  const isListed = sql`listed.keyspace_id = ${keyspaceId} and listed.workspace_id = ${workspaceId}`;
  const former =
    filter.start === undefined ? noFormerKeys : await findFormerKeys(trx, keyspaceId, filter.start);
  const filters = [
    ...listFilters(keyspaceId, filter, { isListed, former }),
    ...(filter.search === undefined
      ? []
      : [await filterBySearch(trx, { keyspaceId, isListed }, filter.search)]),
  ];
  const ordered = filters.find((each) => each.ordered?.sort === sort);
  const all = (cut: RawBuilder<unknown>) =>
    sql`select ${columns} from issued_keys listed where ${isListed} ${cut}`;
  const conditions = filters.filter((each) => each !== ordered).map(({ condition }) => condition);
  const list: BoundedList = {
    order: issuedKeyOrders[sort],
    rows: ordered?.ordered?.rows ?? all,
    looksUpRows:
      filters.some(({ looksUpRows }) => looksUpRows === "always") || ordered?.looksUpRows === "in-order",
    conditions,
    // Alone, a filter whose keys an index has in the order of the page needs no other way.
    matching: conditions.length === 0 ? [] : filters.flatMap(({ matching }) => matching ?? []),
    chosen: (ids) => sql`
      select ${columns} from issued_keys listed
      where ${isListed} and id = any(${ids}::uuid[])
        and ${sql.join([sql`true`, ...filters.map(({ condition }) => condition)], sql` and `)}`,
  };
  return await findBoundedPage(trx, list, page);
}

/** The filters of a query, those that usually match the fewest keys first. */
function listFilters(
  keyspaceId: KeyspaceId,
  { name, externalId, status, start, permission }: IssuedKeyFilter,
  { isListed, former }: { readonly isListed: RawBuilder<unknown>; readonly former: FormerKeys },
): readonly Filter[] {
  const rows: ByCondition = (condition) => (cut) =>
    sql`select ${columns} from issued_keys listed where ${isListed} and ${condition} ${cut}`;
  const matching: Matching = (condition) => (limit) =>
    sql<{ id: string }>`
    select id from issued_keys listed where ${isListed} and ${condition} limit ${limit}`;
  const filters: Filter[] = [];
  if (externalId !== undefined) {
    const condition = sql`consumer_id = (
      select id from consumers where keyspace_id = ${keyspaceId} and external_id = ${externalId})`;
    filters.push({ condition, matching: matching(condition) });
  }
  if (start !== undefined) filters.push(filterByStart(start, { former, matching }));
  if (name !== undefined) {
    const condition = sql`name_search ^@ lower(${name})`;
    filters.push({
      condition,
      matching: matching(condition),
      ordered: { sort: "name", rows: rows(condition) },
    });
  }
  if (permission !== undefined) filters.push(filterByPermission(keyspaceId, permission));
  if (status !== undefined) filters.push(filterByStatus(status, { rows, matching }));
  return filters;
}

/** Keys that have had a secret with the first characters of a filter. The secret may no longer be valid. */
interface FormerKeys {
  readonly ids: readonly string[];
  /** Whether these are all. */
  readonly isComplete: boolean;
}

const noFormerKeys: FormerKeys = { ids: [], isComplete: true };

/** The most keys that are found by a former secret. More of them are examined one by one. */
const maxFormerKeys = 1_000;

/** The most keys that a search finds by their first characters before it sorts. */
const maxStartedKeys = 1_000;

async function findFormerKeys(trx: WorkspaceTrx, keyspaceId: KeyspaceId, start: string): Promise<FormerKeys> {
  const { rows } = await sql<{ id: string }>`
    select key_id as id from retired_issued_secrets where keyspace_id = ${keyspaceId} and start ^@ ${start}
    limit ${maxFormerKeys + 1}`.execute(trx);
  return { ids: [...new Set(rows.map(({ id }) => id))], isComplete: rows.length <= maxFormerKeys };
}

/** A former secret is looked up by its key, and only for the keys that have had one with these first characters, if they are few. */
function filterByStart(
  start: string,
  { former: { ids, isComplete }, matching }: { readonly former: FormerKeys; readonly matching: Matching },
): Filter {
  const isCurrent = sql`start ^@ ${start}`;
  if (ids.length === 0) return { condition: isCurrent, matching: matching(isCurrent) };
  const isFormer = sql`exists (
    select from retired_issued_secrets former
    where former.key_id = listed.id and former.start ^@ ${start} and former.good_until > clock_timestamp())`;
  if (!isComplete) return { condition: sql`(${isCurrent} or ${isFormer})`, looksUpRows: "always" };
  return {
    condition: sql`(${isCurrent} or (listed.id = any(${ids}::uuid[]) and ${isFormer}))`,
    matching: (limit) => sql<{ id: string }>`
      select id from (${matching(isCurrent)(limit)}) found
      union all select unnest(${ids}::uuid[]) as id`,
  };
}

/**
 * Keys whose name or secret starts with a text. If few secrets do, their keys are looked up first, and the others are found by
 * the index of names. If many do, they are so close together that examining the keys in the order of the page finds them.
 */
async function filterBySearch(
  trx: WorkspaceTrx,
  { keyspaceId, isListed }: { readonly keyspaceId: KeyspaceId; readonly isListed: RawBuilder<unknown> },
  text: string,
): Promise<Filter> {
  const matching: Matching = (condition) => (limit) =>
    sql<{ id: string }>`
    select id from issued_keys listed where ${isListed} and ${condition} limit ${limit}`;
  const byStart = filterByStart(text, { former: await findFormerKeys(trx, keyspaceId, text), matching });
  const isNamed = sql`name_search ^@ lower(${text})`;
  const started = await byStart.matching?.(maxStartedKeys + 1).execute(trx);
  if (!started || started.rows.length > maxStartedKeys) {
    const condition = sql`(${isNamed} or ${byStart.condition})`;
    return { condition, ...(byStart.looksUpRows && { looksUpRows: byStart.looksUpRows }) };
  }
  const ids = started.rows.map(({ id }) => id);
  const isStarted = sql`(listed.id = any(${ids}::uuid[]) and ${byStart.condition})`;
  return {
    condition: sql`(${isNamed} or ${isStarted})`,
    matching: (limit) => sql<{ id: string }>`
      select id from (${matching(isNamed)(limit)}) found
      union all select unnest(${ids}::uuid[]) as id`,
    ordered: {
      sort: "name",
      // Each part is cut by itself, so that the index of names is read only as far as necessary.
      rows: (cut) => sql`
        select * from (
          (select ${columns} from issued_keys listed where ${isListed} and ${isNamed} ${cut})
          union all
          (select ${columns} from issued_keys listed where ${isListed} and ${isStarted} and not ${isNamed} ${cut})
        ) listed where true ${cut}`,
    },
  };
}

function filterByPermission(keyspaceId: KeyspaceId, permission: string): Filter {
  const matching = sql`from issued_key_permissions listed
    where listed.keyspace_id = ${keyspaceId} and listed.permission = ${permission}`;
  return {
    condition: sql`permissions @> array[${permission}]::text[]`,
    matching: (limit) => sql<{ id: string }>`select key_id as id ${matching} limit ${limit}`,
    looksUpRows: "in-order",
    ordered: {
      sort: "createdAt",
      // Each key is looked up by itself, in the order of the permissions.
      rows: (cut) => sql`
        select ${columns} from (
          select id, created_at from (select key_id as id, created_at, keyspace_id, permission ${matching}) listed
          where true ${cut}
        ) page, lateral (
          select * from issued_keys where issued_keys.id = page.id limit 1
        ) listed`,
    },
  };
}

function filterByStatus(
  status: IssuedKeyStatusFilter,
  {
    rows,
    matching,
  }: {
    readonly rows: ByCondition;
    readonly matching: Matching;
  },
): Filter {
  const isEnabled = sql`disabled_at is null`;
  switch (status) {
    case "disabled": {
      const condition = sql`disabled_at is not null`;
      return {
        condition,
        matching: matching(condition),
        ordered: { sort: "createdAt", rows: rows(condition) },
      };
    }
    case "expired":
      return {
        condition: sql`(${isEnabled} and ${isExpired("listed")})`,
        matching: matching(sql`listed_expiry <= now()`),
      };
    case "expiring": {
      const isNear = sql`listed_expiry > now() and listed_expiry <= now() + ${days30}`;
      const condition = sql`(${isEnabled} and ${isNear})`;
      return {
        condition,
        matching: matching(isNear),
        ordered: { sort: "expiresAt", rows: rows(condition) },
      };
    }
    // The balance changes with every use, so it has no index. A subquery looks up the counter of each examined key.
    case "out-of-credits":
      return {
        condition: sql`(${isEnabled} and (
          select coalesce(credits, 1) = 0 and ${statusOf("listed", "counter")} = ${status}
          from key_counters counter where counter.key_id = listed.id
        ))`,
        looksUpRows: "always",
      };
    case "active":
      return {
        condition: sql`(${isEnabled} and (
          select ${statusOf("listed", "counter")} from key_counters counter where counter.key_id = listed.id
        ) = ${status})`,
        looksUpRows: "always",
      };
    default:
      return status satisfies never;
  }
}
