import { sql } from "kysely";
import { findOwnKeys, matchesSearch, type OwnKeyQuery } from "./api-key-search.ts";
import type { KeyId, UserId } from "./ids.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
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

/** Returns a page of a user's keys, newest first by default. */
export async function listApiKeys(trx: UserTrx, userId: UserId, query: OwnKeyQuery): Promise<ApiKeyPage> {
  const { ids, total } = await findOwnKeys(trx, userId, query);
  if (ids.length === 0) return { items: [], total };
  const rows = await selectApiKeys(trx, userId).where("api_keys.id", "in", ids).execute();
  const byId = new Map(rows.map((row) => [row.id, toApiKey(row)]));
  // A key that was deleted between the two statements is missing.
  return { items: ids.flatMap((id) => byId.get(id) ?? []), total };
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
    .where(matchesSearch(search))
    .$if(isDisabled !== undefined, (keys) =>
      keys.where("api_keys.disabled_at", isDisabled ? "is not" : "is", null),
    )
    .$if(id !== undefined, (keys) => keys.where("api_keys.id", "=", id as KeyId)); // Checked by $if.
  const rows = await cutPage(query, apiKeyOrders[sort], page).execute();
  return rows.map((row) => ({ ...toApiKey(row), position: row.position }));
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
