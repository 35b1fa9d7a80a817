import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { KeyId, UserId } from "./ids.ts";
import { days30, hasKeyStatus, type KeyStatus, lastHour } from "./key-status.ts";
import type { Db } from "./schema.ts";
import type { UserTrx } from "./workspace-scope.ts";

export const ownKeySorts = ["createdAt", "name", "expiresAt", "lastUsedAt", "usageCount"] as const;
export type OwnKeySort = (typeof ownKeySorts)[number];

const sortExpressions: Readonly<Record<OwnKeySort, RawBuilder<unknown>>> = {
  createdAt: sql`api_keys.created_at`,
  name: sql`lower(api_keys.name)`,
  expiresAt: sql`api_keys.expires_at`,
  lastUsedAt: sql`key_counters.last_used_at`,
  usageCount: sql`key_counters.use_count`,
};

/** Which of a user's keys to list, and in which order. */
export interface OwnKeyQuery {
  /** Part of a name, a description or the first characters, in any letter case; empty for all. */
  readonly search: string;
  readonly status?: KeyStatus | undefined;
  readonly sort?: OwnKeySort | undefined;
  readonly direction?: "asc" | "desc" | undefined;
  readonly offset: number;
  readonly limit: number;
}

/**
 * Finds the IDs of a page of a user's keys, and the number of all matching keys. Reads the default order from an index,
 * whatever the number of keys. Other orders and filters read every key of the user.
 */
export async function findOwnKeys(trx: UserTrx, userId: UserId, query: OwnKeyQuery): Promise<FoundPage> {
  const { search, status, sort = "createdAt", direction = "desc" } = query;
  if (status === undefined && sort === "createdAt" && direction === "desc") {
    return search === "" ? await findPage(trx, userId, query) : await searchPage(trx, userId, query);
  }
  const order = sql`
    ${sortExpressions[sort]} ${sql.raw(direction)} nulls last, api_keys.id ${sql.raw(direction)}`;
  const selection = trx
    .selectFrom("api_keys")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .where("api_keys.user_id", "=", userId)
    .where("api_keys.deleted_at", "is", null)
    .where(matchesSearch(search))
    .where(status ? hasKeyStatus(status, ownKeyFacts) : sql<boolean>`true`);
  const rows = await selection
    .select(["api_keys.id", sql<number>`count(*) over ()`.as("total")])
    .orderBy(order)
    .offset(query.offset)
    .limit(query.limit)
    .execute();
  const [first] = rows;
  if (first) return { ids: rows.map(({ id }) => id), total: first.total };
  // A page beyond the last one has no row with the total.
  const { total } = await selection
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .executeTakeFirstOrThrow();
  return { ids: [], total };
}

/**
 * SQL for whether a key had a rate limited request in this hour or the one before. Row-level security shows the history
 * of the user's own keys.
 */
const isRateLimited = sql<boolean>`exists (
  select from key_usage_hours where key_id = api_keys.id and outcome = 'limited' and hour >= ${lastHour})`;

const ownKeyFacts = {
  isDisabled: sql<boolean>`(api_keys.disabled_at is not null
    or exists (select from users where id = api_keys.user_id and disabled_at is not null))`,
  isLimited: isRateLimited,
  isUsed: sql<boolean>`coalesce(key_counters.last_used_at >= now() - ${days30}, false)`,
};

/** Finds which of a user's keys had a rate limited request in this hour or the one before. */
export async function findRateLimitedKeys(trx: UserTrx, ids: readonly KeyId[]): Promise<ReadonlySet<KeyId>> {
  if (ids.length === 0) return new Set();
  const rows = await trx
    .selectFrom("api_keys")
    .select("id")
    .where("id", "in", ids)
    .where(isRateLimited)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

interface FoundPage {
  readonly ids: readonly KeyId[];
  readonly total: number;
}

type Cut = { readonly offset: number; readonly limit: number };

/** Reads the page and the total from the index alone, even for a large offset. */
async function findPage(trx: UserTrx, userId: UserId, { offset, limit }: Cut): Promise<FoundPage> {
  const keys = trx.selectFrom("api_keys").where("user_id", "=", userId).where("deleted_at", "is", null);
  const rows = await keys
    .select("id")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .offset(offset)
    .limit(limit)
    .execute();
  const { total } = await keys.select((eb) => eb.fn.countAll<number>().as("total")).executeTakeFirstOrThrow();
  return { ids: rows.map(({ id }) => id), total };
}

type Search = Cut & { readonly search: string };

/**
 * Searches the newest keys first. If they fill the page, as for a search that matches many keys, the others are only
 * counted.
 */
async function searchPage(db: Db, userId: UserId, search: Search): Promise<FoundPage> {
  const ids = await searchNewest(db, userId, search);
  return ids.length === search.limit
    ? { ids, total: await countMatching(db, userId, search.search) }
    : await searchAll(db, userId, search);
}

const newestKeys = 2_000;

async function searchNewest(db: Db, userId: UserId, { search, offset, limit }: Search): Promise<KeyId[]> {
  const rows = await db
    .selectFrom((eb) =>
      eb
        .selectFrom("api_keys")
        .select(["id", "created_at", "name", "description", "start"])
        .where("user_id", "=", userId)
        .where("deleted_at", "is", null)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(newestKeys)
        .as("api_keys"),
    )
    .select("id")
    .where(matchesSearch(search))
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .offset(offset)
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

async function countMatching(db: Db, userId: UserId, search: string): Promise<number> {
  const { total } = await db
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .where("user_id", "=", userId)
    .where("deleted_at", "is", null)
    .where(matchesSearch(search))
    .executeTakeFirstOrThrow();
  return total;
}

/** Reads each key once, for both the page and the total. */
async function searchAll(db: Db, userId: UserId, { search, offset, limit }: Search): Promise<FoundPage> {
  const rows = await db
    .with(
      (cte) => cte("matching").materialized(),
      (qb) =>
        qb
          .selectFrom("api_keys")
          .select(["id", "created_at"])
          .where("user_id", "=", userId)
          .where("deleted_at", "is", null)
          .where(matchesSearch(search)),
    )
    .with("page", (qb) =>
      qb
        .selectFrom("matching")
        .select("id")
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .offset(offset)
        .limit(limit),
    )
    .selectFrom((eb) => eb.selectFrom("matching").select(eb.fn.countAll<number>().as("total")).as("counted"))
    .leftJoin("page", (join) => join.onTrue())
    .select(["page.id", "counted.total"])
    .execute();
  const ids = rows.flatMap(({ id }) => (id ? [id] : []));
  return { ids, total: rows[0]?.total ?? 0 };
}

/**
 * Searches one text, joined with a character that no search can contain. That takes half the time of three searches.
 */
export function matchesSearch(search: string): RawBuilder<boolean> {
  if (search === "") return sql<boolean>`true`;
  const text = sql`api_keys.name || chr(31) || api_keys.description || chr(31) || api_keys.start`;
  return containsText(text, search);
}
