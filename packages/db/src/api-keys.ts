import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { KeyId, UserId } from "./ids.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
import { days30, hasKeyStatus, type KeyStatus, lastHour } from "./key-status.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Db } from "./schema.ts";
import type { UserTrx } from "./workspace-scope.ts";

/** An old secret of a key that is still valid. */
export interface FormerSecret {
  /** The first characters of the secret. */
  readonly start: string;
  readonly retiredAt: Date;
  readonly goodUntil: Date;
  /** Accurate to one minute. */
  readonly lastUsedAt: Date | null;
}

/** An API key as its owner sees it, without the secret or its hash. */
export interface ApiKey extends KeySettings {
  readonly id: KeyId;
  readonly name: string;
  readonly description: string;
  /** The first characters of the secret. */
  readonly start: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** The exact number of requests that were allowed with this key. */
  readonly usageCount: number;
  /** The old secrets that are still valid, newest first. */
  readonly formerSecrets: readonly FormerSecret[];
  /** The last request with an old secret whose overlap had ended. */
  readonly rotatedOutUse: { readonly at: Date; readonly address: string | null } | null;
  /** Incremented with every change that the owner makes. */
  readonly version: number;
}

/** Finds a user's key that is not deleted. */
export async function findApiKey(
  db: Db,
  key: { readonly userId: UserId; readonly id: KeyId },
): Promise<ApiKey | undefined> {
  const row = await selectApiKeys(db, key.userId).where("api_keys.id", "=", key.id).executeTakeFirst();
  return row && toApiKey(row);
}

export interface ApiKeyPage {
  readonly items: ApiKey[];
  /** The number of all matching keys. */
  readonly total: number;
}

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

/** Returns a page of a user's keys, newest first by default. */
export async function listApiKeys(trx: UserTrx, userId: UserId, query: OwnKeyQuery): Promise<ApiKeyPage> {
  const { ids, total } = await findOwnKeys(trx, userId, query);
  if (ids.length === 0) return { items: [], total };
  const rows = await selectApiKeys(trx, userId).where("api_keys.id", "in", ids).execute();
  const byId = new Map(rows.map((row) => [row.id, toApiKey(row)]));
  // A key that was deleted between the two statements is missing.
  return { items: ids.flatMap((id) => byId.get(id) ?? []), total };
}

/**
 * Reads the default order from an index, whatever the number of keys. Other orders and filters read every key of the
 * user.
 */
async function findOwnKeys(trx: UserTrx, userId: UserId, query: OwnKeyQuery): Promise<FoundPage> {
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
    .where(matches(search))
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
  isDisabled: sql<boolean>`(api_keys.disabled_at is not null)`,
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
    .where(matches(search))
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
    .where(matches(search))
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
          .where(matches(search)),
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

export const apiKeyOrders = {
  createdAt: { column: "api_keys.created_at", type: "timestamptz", id: "api_keys.id" },
  name: { column: "api_keys.name", type: "text", id: "api_keys.id" },
} as const satisfies Record<string, Order>;

export interface ApiKeyFilter {
  /** Part of a name, a description or the first characters, in any letter case. */
  readonly search?: string | undefined;
  readonly isDisabled?: boolean | undefined;
  /** Only this key. */
  readonly id?: KeyId | undefined;
}

/** Returns a page of a user's keys. */
export async function listApiKeyPage(
  db: Db,
  userId: UserId,
  {
    sort,
    filter,
    ...page
  }: Page & { readonly sort: keyof typeof apiKeyOrders; readonly filter: ApiKeyFilter },
): Promise<(ApiKey & { position: string })[]> {
  const { search = "", isDisabled, id } = filter;
  const query = selectApiKeys(db, userId)
    .where(matches(search))
    .$if(isDisabled !== undefined, (keys) =>
      keys.where("api_keys.disabled_at", isDisabled ? "is not" : "is", null),
    )
    .$if(id !== undefined, (keys) => keys.where("api_keys.id", "=", id as KeyId)); // Checked by $if.
  const rows = await cutPage(query, apiKeyOrders[sort], page).execute();
  return rows.map((row) => ({ ...toApiKey(row), position: row.position }));
}

/**
 * Searches one text, joined with a character that no search can contain. That takes half the time of three searches.
 */
function matches(search: string) {
  if (search === "") return sql<boolean>`true`;
  const text = sql`api_keys.name || chr(31) || api_keys.description || chr(31) || api_keys.start`;
  return containsText(text, search);
}

/**
 * Counts a user's keys that are not deleted, up to `maxCount`. Unless the user is locked, keys can be added
 * concurrently.
 */
export async function countApiKeys(db: Db, userId: UserId, maxCount: number): Promise<number> {
  const { count } = await db
    .selectFrom((eb) =>
      eb
        .selectFrom("api_keys")
        .select("id")
        .where("user_id", "=", userId)
        .where("deleted_at", "is", null)
        .limit(maxCount)
        .as("keys"),
    )
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** Totals of all keys of a user. */
export interface ApiKeySummary {
  readonly keyCount: number;
  /** Requests that were allowed with the keys that are not deleted. */
  readonly usageCount: number;
  readonly lastUsedAt: Date | null;
}

/** Adds up a user's keys that are not deleted. */
export async function summarizeApiKeys(db: Db, userId: UserId): Promise<ApiKeySummary> {
  return await db
    .selectFrom("api_keys")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .select((eb) => [
      eb.fn.countAll<number>().as("keyCount"),
      // In Postgres, a sum of bigint is numeric, which the driver would return as text.
      sql<number>`coalesce(sum(key_counters.use_count), 0)::bigint`.as("usageCount"),
      eb.fn.max("key_counters.last_used_at").as("lastUsedAt"),
    ])
    .where("api_keys.user_id", "=", userId)
    .where("api_keys.deleted_at", "is", null)
    .executeTakeFirstOrThrow();
}

/** Finds the owner of a key, even if the key is deleted. For the `latchkey` command. */
export async function findApiKeyOwnerId(db: Db, id: KeyId): Promise<UserId | undefined> {
  const row = await db.selectFrom("api_keys").select("user_id").where("id", "=", id).executeTakeFirst();
  return row?.user_id;
}

/** An API key with its owner, as the instance's operator sees it. */
export interface ApiKeyWithOwner extends ApiKey {
  readonly userId: UserId;
}

/** Returns a page of the keys of all users, ordered by ID, after the key `after`. For the `latchkey` command. */
export async function listInstanceApiKeys(
  db: Db,
  { after, limit }: { readonly after: KeyId | undefined; readonly limit: number },
): Promise<ApiKeyWithOwner[]> {
  const query = selectLiveApiKeys(db).select("api_keys.user_id as userId");
  const rows = await (after ? query.where("api_keys.id", ">", after) : query)
    .orderBy("api_keys.id")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...toApiKey(row), userId: row.userId }));
}

function selectApiKeys(db: Db, userId: UserId) {
  return selectLiveApiKeys(db).where("api_keys.user_id", "=", userId);
}

/** Selects the keys of all users that are not deleted. */
function selectLiveApiKeys(db: Db) {
  return db
    .selectFrom("api_keys")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .select([
      "api_keys.id",
      "api_keys.name",
      "api_keys.description",
      "api_keys.start",
      "api_keys.created_at as createdAt",
      "api_keys.version",
      "key_counters.last_used_at as lastUsedAt",
      "key_counters.use_count as usageCount",
      ...selectSettings,
      sql<readonly JsonOf<FormerSecret>[]>`(
        select coalesce(json_agg(json_build_object('start', former.start, 'retiredAt', retired_at,
          'goodUntil', good_until, 'lastUsedAt', former.last_used_at) order by retired_at desc), '[]')
        from retired_secrets former
        where key_id = api_keys.id and good_until > clock_timestamp())`.as("formerSecrets"),
      sql<JsonOf<NonNullable<ApiKey["rotatedOutUse"]>> | null>`(
        select json_build_object('at', refused_at, 'address', refused_address)
        from retired_secrets
        where key_id = api_keys.id and refused_at is not null
        order by refused_at desc limit 1)`.as("rotatedOutUse"),
    ])
    .where("api_keys.deleted_at", "is", null);
}

/** The type of a value after serialization as JSON. */
type JsonOf<Value> = {
  readonly [Name in keyof Value]: Value[Name] extends Date
    ? string
    : Value[Name] extends Date | null
      ? string | null
      : Value[Name];
};

type ApiKeyRow = Awaited<ReturnType<ReturnType<typeof selectApiKeys>["executeTakeFirstOrThrow"]>>;

function toApiKey(row: ApiKeyRow): ApiKey {
  const { formerSecrets, rotatedOutUse, ...facts } = row;
  return {
    ...facts,
    formerSecrets: formerSecrets.map(({ start, retiredAt, goodUntil, lastUsedAt }) => ({
      start,
      retiredAt: new Date(retiredAt),
      goodUntil: new Date(goodUntil),
      lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
    })),
    rotatedOutUse: rotatedOutUse && { at: new Date(rotatedOutUse.at), address: rotatedOutUse.address },
  };
}
