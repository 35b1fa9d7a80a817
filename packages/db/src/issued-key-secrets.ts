import { sql } from "kysely";
import { maxValidFormerSecrets } from "./api-key-changes.ts";
import type { IssuedKeyId } from "./ids.ts";
import { areUsesLocked } from "./issued-key-uses.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The `good_until` of a secret that is revoked permanently. It stays in the past even if the clock is set back. */
const alwaysExpired = sql<Date>`'-infinity'::timestamptz`;
/** The most old secrets of a key that are stored. Only those whose overlap has not ended have an effect. */
const maxStoredFormerSecrets = 20;

/** The stored part of a new secret of a key. */
export interface NewIssuedSecret {
  readonly id: IssuedKeyId;
  readonly start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  readonly hash: Buffer;
}

/** A secret that a creation or rotation issued. */
export interface IssuedSecretHash {
  readonly id: IssuedKeyId;
  /** SHA-256 of that secret. */
  readonly issuedHash: Buffer;
}

/**
 * Replaces the secrets of keys. Each old secret stays valid for the overlap, unless five newer old secrets of its key are valid.
 * Old secrets are found by their `ctid`, in a list that is read once. With a join, Postgres read the list once per old secret if its
 * statistics had no old secrets of these keys: rotating 1,000 keys for the third time took 15 times as long.
 * Lock the keys first, and call `bumpKeyVersions` with `hasNewSecret` last in the transaction.
 */
export async function rotateIssuedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  secrets: readonly NewIssuedSecret[],
  overlapSeconds: number,
): Promise<void> {
  const ids = secrets.map(({ id }) => id);
  const overlap = sql`clock_timestamp() + ${overlapSeconds}::integer * interval '1 second'`;
  await sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select hash, workspace_id, keyspace_id, id, start, ${overlapSeconds === 0 ? alwaysExpired : overlap}
    from issued_keys where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}`.execute(trx);
  await sql`
    update retired_issued_secrets set good_until = ${alwaysExpired}
    where ctid = any(array(
      select ctid from (
        select ctid, is_valid, row_number() over (partition by key_id, is_valid order by retired_at desc, hash) as position
        from (
          select ctid, key_id, retired_at, hash, good_until > clock_timestamp() as is_valid
          from retired_issued_secrets
          where key_id = any(${ids}::uuid[]) and good_until <> ${alwaysExpired}
        ) stored
      ) ranked
      where not is_valid or position > ${maxValidFormerSecrets}
    ))`.execute(trx);
  await deleteOldestRevoked(trx, ids);
  await sql`
    update issued_keys key
    set hash = secret.hash, start = secret.start, version = version + 1, updated_at = clock_timestamp()
    from unnest(${ids}::uuid[], ${secrets.map(({ hash }) => hash)}::bytea[],
      ${secrets.map(({ start }) => start)}::text[]) as secret (id, hash, start)
    where key.id = secret.id and workspace_id = ${workspaceId}`.execute(trx);
}

/**
 * Revokes all old secrets of a key, including those whose overlap has ended, which the clock could otherwise make valid again. Lock
 * the key first, and call `bumpKeyVersions` last in the transaction.
 * @returns whether one of them was still valid. The version of the key then changes.
 */
export async function revokeOldIssuedSecrets(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  id: IssuedKeyId,
): Promise<boolean> {
  const { rows } = await sql`
    with valid as materialized (
      select from retired_issued_secrets where key_id = ${id} and good_until > clock_timestamp()
    ),
    revoked as (
      update retired_issued_secrets set good_until = ${alwaysExpired}
      where key_id = ${id} and workspace_id = ${workspaceId} and good_until <> ${alwaysExpired}
    )
    update issued_keys set version = version + 1, updated_at = clock_timestamp()
    where id = ${id} and workspace_id = ${workspaceId} and exists (select from valid)
    returning id`.execute(trx);
  return rows.length > 0;
}

/** Deletes the oldest revoked secrets of keys beyond `maxStoredFormerSecrets` per key. Never deletes a valid one. */
async function deleteOldestRevoked(trx: WorkspaceTrx, ids: readonly IssuedKeyId[]): Promise<void> {
  await sql`
    delete from retired_issued_secrets
    where ctid = any(array(
      select ctid from (
        select ctid, good_until, row_number() over (partition by key_id order by retired_at desc, hash) as position
        from retired_issued_secrets where key_id = any(${ids}::uuid[])
      ) stored
      where good_until = ${alwaysExpired} and position > ${maxStoredFormerSecrets}
    ))`.execute(trx);
}

/**
 * Returns the keys whose current secret is the issued one and was never used. Lock the keys first. With `lock`, locks the
 * counters of unused secrets, in the order of their keys as admission locks them, so that the result stays true until the transaction
 * ends. Admission waits for these rows.
 */
export async function findUnusedIssuedSecrets(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  issued: readonly IssuedSecretHash[],
  { lock }: { readonly lock: boolean },
): Promise<readonly IssuedKeyId[]> {
  const { rows } = await sql<{ id: IssuedKeyId }>`
    select counter.key_id as id
    from unnest(${issued.map(({ id }) => id)}::uuid[], ${issued.map(({ issuedHash }) => issuedHash)}::bytea[])
      as issued (id, hash)
    join issued_keys key on key.id = issued.id and key.hash = issued.hash and key.workspace_id = ${workspaceId}
    join key_counters counter on counter.key_id = key.id
    where has_unused_secret
    order by counter.key_id
    ${lock ? sql`for no key update of counter` : sql``}`.execute(trx);
  return rows.map(({ id }) => id);
}

/**
 * Replaces current secrets of keys, for a repeated request. A key whose issued secret has been used, or is no longer current, isn't
 * changed. Lock the keys first, and call this last in the transaction. Before it decides, it locks the counters of the keys, in the
 * order in which admission locks them, as `replaceUnusedSecret` does for API keys.
 * @returns the keys whose secrets were replaced.
 */
export async function replaceUnusedIssuedSecrets(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  secrets: readonly (NewIssuedSecret & IssuedSecretHash)[],
): Promise<readonly IssuedKeyId[]> {
  const ids = secrets.map(({ id }) => id);
  await deleteOldestRevoked(trx, ids);
  const { rows } = await sql<{ id: IssuedKeyId }>`
    with secret as materialized (
      select * from unnest(${ids}::uuid[], ${secrets.map(({ issuedHash }) => issuedHash)}::bytea[],
        ${secrets.map(({ hash }) => hash)}::bytea[], ${secrets.map(({ start }) => start)}::text[])
        as secret (id, issued_hash, hash, start)
    ),
    unused as materialized (
      select key_id from key_counters
      where key_id = any(${ids}::uuid[]) and has_unused_secret
      order by key_id
      for no key update
    ),
    retired as (
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      select key.hash, workspace_id, keyspace_id, key.id, key.start, ${alwaysExpired}
      from issued_keys key
      join unused on unused.key_id = key.id
      join secret on secret.id = key.id and secret.issued_hash = key.hash
      where workspace_id = ${workspaceId}
      returning key_id
    ),
    replaced as (
      update issued_keys key
      set hash = secret.hash, start = secret.start, version = version + 1, updated_at = clock_timestamp()
      from secret
      where key.id = secret.id and key.id in (select key_id from retired)
      returning key.id
    )
    update key_counters set version = version + 1
    where key_id in (select id from replaced)
      and ${areUsesLocked(sql`array(select key_id from unused)`)}
    returning key_id as id`.execute(trx);
  return rows.map(({ id }) => id);
}
