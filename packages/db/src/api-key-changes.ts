import { sql } from "kysely";
import { type ApiKey, findApiKey } from "./api-keys.ts";
import { createId, type KeyId, type UserId } from "./ids.ts";
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
      ...toColumns(key.settings ?? defaultSettings),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await insertKeyCounter(trx, id);
  return id;
}

/**
 * Locks a user's key, so that nobody else changes it until the transaction ends; undefined when it is deleted or was never
 * theirs.
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

/** What of a key can be edited. */
interface ApiKeyChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly settings?: KeySettings | undefined;
}

/**
 * Changes a key; whether it is there, at a version that the caller asks for. Where its settings change, call
 * `bumpKeyVersions` last.
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

/** The end of what is over for good: no clock that is set back brings it to life again. */
const overForGood = sql<Date>`'-infinity'::timestamptz`;
/** So many former secrets of a key may be good at once; each is counted in a statement of its own. */
const formerSecretsAtOnce = 5;
/** So many are recognised when they are presented later. */
const formerSecretsKept = 100;

/**
 * Gives a key another secret; the one that it had is good for as long as the overlap lasts, unless five later ones are.
 * Lock the key before, and call `bumpKeyVersions` with `hasNewSecret` last.
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
    select hash, id, start, ${secret.overlapSeconds === 0 ? overForGood : overlap}
    from api_keys where id = ${id}`.execute(trx);
  await endAllBut(trx, id, formerSecretsAtOnce);
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

/**
 * Replaces the current secret of a key, unless a request was admitted with it or another secret is current by now; whether
 * it was replaced. The replaced secret is no longer valid; it is kept among the retired ones, so that it is recognized
 * when somebody presents it. Former secrets keep their overlap.
 *
 * Lock the key before, and call this last in the transaction. It locks the key's counter before it decides. Admission
 * marks the first use of a new secret in that row, in the statement that counts the use: either that statement has
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
  await forgetLongRetired(trx, id);
  const { rows } = await sql`
    with unused as materialized (
      select key_id from key_counters
      where key_id = ${id} and (has_unused_secret or use_count = 0)
      for no key update
    ),
    retired as (
      insert into retired_secrets (hash, key_id, start, good_until)
      select hash, id, start, ${overForGood}
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

/** Ends the overlap of all secrets that a key had before. Lock the key before, and call `bumpKeyVersions` last. */
export async function endOverlap(trx: Trx, id: KeyId): Promise<void> {
  await endAllBut(trx, id, 0);
}

/** Ends the overlap of a key's former secrets except the latest valid ones, so many, and forgets the oldest. */
async function endAllBut(trx: Trx, id: KeyId, count: number): Promise<void> {
  await sql`
    update retired_secrets set good_until = ${overForGood}
    where key_id = ${id} and good_until <> ${overForGood} and hash not in (
      select hash from retired_secrets
      where key_id = ${id} and good_until > clock_timestamp()
      order by retired_at desc, hash limit ${count})`.execute(trx);
  await forgetLongRetired(trx, id);
}

/** Deletes the oldest of a key's retired secrets, if there are many; never one that is still valid. */
async function forgetLongRetired(trx: Trx, id: KeyId): Promise<void> {
  await sql`
    delete from retired_secrets where good_until = ${overForGood} and hash in (
      select hash from retired_secrets
      where key_id = ${id} order by retired_at desc, hash offset ${formerSecretsKept})`.execute(trx);
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
