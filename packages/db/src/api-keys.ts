import { sql } from "kysely";
import { containing } from "./containing.ts";
import { createId, type KeyId, type UserId } from "./ids.ts";
import { bumpKeyVersions, insertKeyCounter } from "./key-counters.ts";
import type { Db, Trx } from "./schema.ts";

/** An API key as its user sees it; never the secret or its hash. */
export interface ApiKey {
  readonly id: KeyId;
  readonly name: string;
  readonly description: string;
  /** The first characters of the secret. */
  readonly start: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** Requests admitted with this key, exactly. */
  readonly usageCount: number;
}

export interface NewApiKey {
  readonly userId: UserId;
  readonly name: string;
  readonly description: string;
  readonly start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  readonly hash: Buffer;
}

/**
 * Stores a new key with its counter; undefined when the user is disabled.
 *
 * The user's row stays locked until the transaction ends, so that a change that puts all of the user's keys out of
 * force comes before this key, which then is not made, or sees it and reaches it too. Without the lock a node could
 * remember the new key as good, from before that change, with a version that nobody moves.
 */
export async function insertApiKey(trx: Trx, key: NewApiKey): Promise<KeyId | undefined> {
  const owner = await trx
    .selectFrom("users")
    .select("disabled_at")
    .where("id", "=", key.userId)
    .forShare()
    .executeTakeFirst();
  if (!owner || owner.disabled_at) return undefined;
  const { id } = await trx
    .insertInto("api_keys")
    .values({
      id: createId("key"),
      user_id: key.userId,
      name: key.name,
      description: key.description,
      start: key.start,
      hash: key.hash,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await insertKeyCounter(trx, id);
  return id;
}

/** A user's key that has not been deleted. */
export async function findApiKey(
  db: Db,
  key: { readonly userId: UserId; readonly id: KeyId },
): Promise<ApiKey | undefined> {
  return await selectApiKeys(db, key.userId).where("api_keys.id", "=", key.id).executeTakeFirst();
}

export interface ApiKeyPage {
  readonly items: ApiKey[];
  /** How many keys match in all. */
  readonly total: number;
}

/** A user's keys, newest first, that have `search` in their name, description or first characters. */
export async function listApiKeys(
  db: Db,
  userId: UserId,
  page: { readonly search: string; readonly offset: number; readonly limit: number },
): Promise<ApiKeyPage> {
  const pattern = containing(page.search);
  // The parentheses keep this "or" from undoing the conditions that it stands beside.
  const matches = sql<boolean>`
    (api_keys.name ilike ${pattern} or api_keys.description ilike ${pattern} or api_keys.start ilike ${pattern})`;
  const items = await selectApiKeys(db, userId)
    .$if(page.search !== "", (query) => query.where(matches))
    .orderBy("api_keys.created_at", "desc")
    .orderBy("api_keys.id", "desc")
    .offset(page.offset)
    .limit(page.limit)
    .execute();
  const { total } = await db
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .where("user_id", "=", userId)
    .where("deleted_at", "is", null)
    .$if(page.search !== "", (query) => query.where(matches))
    .executeTakeFirstOrThrow();
  return { items, total };
}

/** All of a user's keys together. */
export interface ApiKeySummary {
  readonly keyCount: number;
  /** Requests admitted with the keys that are not deleted. */
  readonly usageCount: number;
  readonly lastUsedAt: Date | null;
}

/** Adds up a user's keys that have not been deleted. */
export async function summarizeApiKeys(db: Db, userId: UserId): Promise<ApiKeySummary> {
  return await db
    .selectFrom("api_keys")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .select((eb) => [
      eb.fn.countAll<number>().as("keyCount"),
      // A sum of bigint is numeric in Postgres, which would arrive as text.
      sql<number>`coalesce(sum(key_counters.use_count), 0)::bigint`.as("usageCount"),
      eb.fn.max("key_counters.last_used_at").as("lastUsedAt"),
    ])
    .where("api_keys.user_id", "=", userId)
    .where("api_keys.deleted_at", "is", null)
    .executeTakeFirstOrThrow();
}

/** Changes what a key is called; whether there was such a key. Neither name nor description matters to admission. */
export async function updateApiKey(
  db: Db,
  key: { readonly userId: UserId; readonly id: KeyId },
  changes: { readonly name: string; readonly description: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("api_keys")
    .set({ name: changes.name, description: changes.description, updated_at: sql`clock_timestamp()` })
    .where("id", "=", key.id)
    .where("user_id", "=", key.userId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Deletes a user's key; whether there was such a key. Once the transaction commits, no node admits it. */
export async function deleteApiKey(
  trx: Trx,
  key: { readonly userId: UserId; readonly id: KeyId },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("api_keys")
    .set({ deleted_at: sql`clock_timestamp()`, updated_at: sql`clock_timestamp()` })
    .where("id", "=", key.id)
    .where("user_id", "=", key.userId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await bumpKeyVersions(trx, { keyId: key.id });
  return true;
}

/** Whose key this is, deleted or not; undefined when there never was one. For the operator's command. */
export async function findApiKeyOwner(db: Db, id: KeyId): Promise<UserId | undefined> {
  const row = await db.selectFrom("api_keys").select("user_id").where("id", "=", id).executeTakeFirst();
  return row?.user_id;
}

function selectApiKeys(db: Db, userId: UserId) {
  return db
    .selectFrom("api_keys")
    .innerJoin("key_counters", "key_counters.key_id", "api_keys.id")
    .select([
      "api_keys.id",
      "api_keys.name",
      "api_keys.description",
      "api_keys.start",
      "api_keys.created_at as createdAt",
      "key_counters.last_used_at as lastUsedAt",
      "key_counters.use_count as usageCount",
    ])
    .where("api_keys.user_id", "=", userId)
    .where("api_keys.deleted_at", "is", null);
}
