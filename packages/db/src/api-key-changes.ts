import { sql } from "kysely";
import { type ApiKey, findApiKey } from "./api-keys.ts";
import { createId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import { bumpKeyVersions, insertKeyCounter } from "./key-counters.ts";
import { defaultSettings, type KeySettings, toColumns } from "./key-settings.ts";
import type { Trx } from "./schema.ts";
import { isAtVersion, type Versions } from "./versions.ts";

export interface NewApiKey {
  readonly userId: UserId;
  readonly name: string;
  readonly description: string;
  readonly start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  readonly hash: Buffer;
  /** The default is a key without restrictions. */
  readonly settings?: KeySettings;
}

/**
 * Stores a new key with its counter. Returns undefined if the user is disabled.
 *
 * Locks the user's row until the transaction ends. A concurrent change that invalidates all of the user's keys
 * therefore either commits first, and the key is not created, or waits and includes the new key. Without the lock, a
 * node could remember the new key as valid, as it was before that change, with a version that no later change
 * increments.
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
      ...toColumns(key.settings ?? defaultSettings),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await insertKeyCounter(trx, id);
  return id;
}

/**
 * Locks a user's key against other changes until the transaction ends. Returns undefined if the user has no such key or
 * it is deleted.
 */
export async function lockApiKey(
  trx: Trx,
  key: { readonly userId: UserId; readonly id: KeyId },
): Promise<ApiKey | undefined> {
  const locked = await trx
    .selectFrom("api_keys")
    .select("id")
    .where("id", "=", key.id)
    .where("user_id", "=", key.userId)
    .where("deleted_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return locked && (await findApiKey(trx, key));
}

/** The fields of a key that can be edited. */
interface ApiKeyChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly settings?: KeySettings | undefined;
}

/**
 * Changes a key. Returns false if the user has no such key, or it is at none of `versions`. If the settings change,
 * call `bumpKeyVersions` last in the transaction.
 */
export async function updateApiKey(
  trx: Trx,
  { id, userId }: { readonly userId: UserId; readonly id: KeyId },
  { name, description, settings, versions }: ApiKeyChanges & { readonly versions?: Versions },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("api_keys")
    .set((eb) => ({
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(settings ? toColumns(settings) : {}),
      version: eb("version", "+", 1),
      updated_at: sql`clock_timestamp()`,
    }))
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .where("deleted_at", "is", null)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The `good_until` of a secret that is revoked permanently. It stays in the past even if the clock is set back. */
const alwaysExpired = sql<Date>`'-infinity'::timestamptz`;
/** The most old secrets of a key that are valid at the same time. Admission counts each in a separate statement. */
export const maxValidFormerSecrets = 5;
/** The most old secrets of a key that are stored, so that they are recognized when they are presented later. */
const maxStoredFormerSecrets = 100;

/**
 * Replaces the secret of a key. The old secret stays valid for the overlap, unless five newer old secrets are
 * valid. Lock the key first, and call `bumpKeyVersions` with `hasNewSecret` last in the transaction.
 * @param secret.hash SHA-256 of the whole secret, 32 bytes.
 */
export async function rotateApiKey(
  trx: Trx,
  id: KeyId,
  secret: { readonly start: string; readonly hash: Buffer; readonly overlapSeconds: number },
): Promise<void> {
  const overlap = sql`clock_timestamp() + ${secret.overlapSeconds}::integer * interval '1 second'`;
  await sql`
    insert into retired_secrets (hash, key_id, start, good_until)
    select hash, id, start, ${secret.overlapSeconds === 0 ? alwaysExpired : overlap}
    from api_keys where id = ${id}`.execute(trx);
  await revokeAllExceptLatest(trx, id, maxValidFormerSecrets);
  await trx
    .updateTable("api_keys")
    .set((eb) => ({
      hash: secret.hash,
      start: secret.start,
      version: eb("version", "+", 1),
      updated_at: sql`clock_timestamp()`,
    }))
    .where("id", "=", id)
    .execute();
}

const isSecretUnused = sql`(has_unused_secret or (has_unused_secret is null and use_count = 0))`;

/**
 * Whether {@link replaceUnusedSecret} would replace the secret with this SHA-256 now. A secret that it wouldn't replace is never
 * unused again.
 */
export async function isUnusedSecret(
  trx: Trx,
  { id, issuedHash }: { readonly id: KeyId; readonly issuedHash: Buffer },
): Promise<boolean> {
  const { rows } = await sql`
    select from api_keys join key_counters on key_id = id
    where id = ${id} and hash = ${issuedHash} and ${isSecretUnused}`.execute(trx);
  return rows.length > 0;
}

/**
 * Replaces the current secret of a key. Returns false and changes nothing if a request was allowed with the secret or a
 * verification of it was valid, or if it is no longer the current one. The secret of a key that was never rotated counts as unused
 * until the first use of the key. The replaced secret is revoked, and stored so that it is recognized when
 * it is presented later. Old secrets of earlier rotations keep their overlap.
 *
 * Lock the key first, and call this last in the transaction. It locks the key's counter before it decides. Admission
 * marks the first use of a new secret in that row, in the statement that counts the use. Either that statement has
 * committed, and nothing is replaced, or it finds that the version has changed, and counts nothing.
 *
 * @param key.issuedHash SHA-256 of the secret to replace.
 * @param secret.hash SHA-256 of the whole new secret, 32 bytes.
 */
export async function replaceUnusedSecret(
  trx: Trx,
  { id, issuedHash }: { readonly id: KeyId; readonly issuedHash: Buffer },
  secret: { readonly start: string; readonly hash: Buffer },
): Promise<boolean> {
  await deleteOldestRevoked(trx, id);
  const { rows } = await sql`
    with unused as materialized (
      select key_id from key_counters where key_id = ${id} and ${isSecretUnused} for no key update
    ),
    retired as (
      insert into retired_secrets (hash, key_id, start, good_until)
      select hash, id, start, ${alwaysExpired}
      from api_keys join unused on unused.key_id = api_keys.id
      where hash = ${issuedHash}
      returning key_id
    ),
    replaced as (
      update api_keys
      set hash = ${secret.hash}, start = ${secret.start}, version = version + 1, updated_at = clock_timestamp()
      where id in (select key_id from retired)
      returning id
    )
    update key_counters set version = version + 1
    where key_id in (select id from replaced)
    returning key_id`.execute(trx);
  return rows.length > 0;
}

/**
 * Revokes all old secrets of a key, including those whose overlap has ended, which the clock could otherwise make valid again. Lock
 * the key first, and call `bumpKeyVersions` last in the transaction.
 * @returns whether one of them was still valid. The version of the key then changes.
 */
export async function revokeOldApiKeySecrets(trx: Trx, id: KeyId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("api_keys")
    .set((eb) => ({ version: eb("version", "+", 1), updated_at: sql`clock_timestamp()` }))
    .where("id", "=", id)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("retired_secrets")
          .select("hash")
          .where("key_id", "=", id)
          .where("good_until", ">", sql<Date>`clock_timestamp()`),
      ),
    )
    .executeTakeFirst();
  await revokeAllExceptLatest(trx, id, 0);
  return numUpdatedRows > 0n;
}

/** Revokes a key's old secrets except the latest `count` valid ones, and deletes the oldest revoked ones. */
async function revokeAllExceptLatest(trx: Trx, id: KeyId, count: number): Promise<void> {
  await sql`
    update retired_secrets set good_until = ${alwaysExpired}
    where key_id = ${id} and good_until <> ${alwaysExpired} and hash not in (
      select hash from retired_secrets
      where key_id = ${id} and good_until > clock_timestamp()
      order by retired_at desc, hash limit ${count})`.execute(trx);
  await deleteOldestRevoked(trx, id);
}

/** Deletes a key's oldest revoked secrets beyond `maxStoredFormerSecrets`. Never deletes a valid one. */
async function deleteOldestRevoked(trx: Trx, id: KeyId): Promise<void> {
  await sql`
    delete from retired_secrets where good_until = ${alwaysExpired} and hash in (
      select hash from retired_secrets
      where key_id = ${id} order by retired_at desc, hash offset ${maxStoredFormerSecrets})`.execute(trx);
}

/** Deletes a user's key. Returns false if there is none. After the transaction commits, every node rejects the key. */
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

/**
 * Deletes all keys of a user, and returns them. Lock the user first, and call `bumpKeyVersions` last in the transaction.
 */
export async function deleteAllApiKeys(
  trx: Trx,
  userId: UserId,
): Promise<{ id: KeyId; name: string; workspaceIds: readonly WorkspaceId[] | null }[]> {
  return await trx
    .updateTable("api_keys")
    .set({ deleted_at: sql`clock_timestamp()`, updated_at: sql`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("deleted_at", "is", null)
    .returning(["id", "name", "workspace_ids as workspaceIds"])
    .execute();
}
