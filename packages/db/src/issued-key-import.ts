import { sql } from "kysely";
import { type ConsumerId, createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { type IssuedKeySettings, toIssuedColumns } from "./issued-key-settings.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** A key that another system issued. */
export interface ImportedKey {
  readonly consumerId: ConsumerId | null;
  /** The first characters of the secret; empty if they aren't known. */
  readonly start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  readonly hash: Buffer;
  readonly settings: IssuedKeySettings;
  /** The balance of credits; null for none. */
  readonly remainingCredits: number | null;
}

/** A key, or an old secret of one, that a workspace has. */
export interface KnownSecret {
  readonly hash: Buffer;
  readonly keyspaceId: KeyspaceId;
  /** Whether it is the current secret of its key. */
  readonly isCurrent: boolean;
}

/** Finds which of these secrets the keys of a workspace have or had. */
export async function findKnownSecrets(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  hashes: readonly Buffer[],
): Promise<readonly KnownSecret[]> {
  const { rows } = await sql<KnownSecret>`
    select hash, keyspace_id as "keyspaceId", true as "isCurrent" from issued_keys
    where hash = any(${hashes}::bytea[]) and workspace_id = ${workspaceId}
    union all
    select hash, keyspace_id, false from retired_issued_secrets
    where hash = any(${hashes}::bytea[]) and workspace_id = ${workspaceId}`.execute(trx);
  return rows;
}

/** A consumer, and the number of its keys. */
export interface CountedConsumer {
  readonly id: ConsumerId;
  readonly externalId: string;
  readonly keyCount: number;
}

/** Finds the consumers of a keyspace with these external IDs, and creates those that don't exist, with their counters. */
export async function findOrCreateConsumers(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  {
    keyspaceId,
    externalIds,
    maxKeyCount,
  }: {
    readonly keyspaceId: KeyspaceId;
    readonly externalIds: readonly string[];
    /** More keys of a consumer are not counted. */
    readonly maxKeyCount: number;
  },
): Promise<readonly CountedConsumer[]> {
  const wanted = [...new Set(externalIds)];
  const ids = wanted.map(() => createId("consumer"));
  // The change to the rows of those that exist makes a concurrent purge check them again. All are marked, because a row for the
  // consumer can still be rejected. The purge removes the mark of those that have keys.
  const { rows } = await sql<{ id: ConsumerId; externalId: string; keyCount: number }>`
    insert into consumers as known (workspace_id, keyspace_id, id, external_id, unused_since)
    select ${workspaceId}, ${keyspaceId}, id, external_id, clock_timestamp()
    from unnest(${ids}::uuid[], ${wanted}::text[]) as wanted (id, external_id)
    order by external_id
    on conflict (keyspace_id, external_id) do update set unused_since = excluded.unused_since
    returning id, external_id as "externalId",
      (select count(*) from (
        select from issued_keys where consumer_id = known.id limit ${maxKeyCount}
      ) keys)::integer as "keyCount"`.execute(trx);
  const newIds = new Set<string>(ids);
  const created = rows.filter(({ id }) => newIds.has(id)).map(({ id }) => id);
  await sql`insert into key_counters (key_id) select unnest(${created}::uuid[])`.execute(trx);
  return rows;
}

/** Stores keys with their counters. Lock the workspace and the keyspace first, and check that no hash is known. */
export async function insertImportedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  keyspaceId: KeyspaceId,
  keys: readonly ImportedKey[],
): Promise<void> {
  if (keys.length === 0) return;
  const withIds = keys.map((key): ImportedKey & { readonly id: IssuedKeyId } => ({
    ...key,
    id: createId("issuedKey"),
  }));
  await sql`
    insert into key_counters (key_id, credits, credits_refilled_at)
    select id, credits, case when credits is not null then clock_timestamp() end
    from unnest(${withIds.map(({ id }) => id)}::uuid[],
      ${withIds.map(({ remainingCredits }) => remainingCredits)}::bigint[]) as key (id, credits)`.execute(
    trx,
  );
  const now = sql<Date>`clock_timestamp()`;
  // Last, because a trigger updates the number of keys of the keyspace, for which concurrent inserts wait.
  await trx
    .insertInto("issued_keys")
    .values(
      withIds.map(({ id, consumerId, start, hash, settings }) => ({
        ...toIssuedColumns({ ...settings, isDisabled: false }),
        disabled_at: settings.isDisabled ? now : null,
        id,
        workspace_id: workspaceId,
        keyspace_id: keyspaceId,
        consumer_id: consumerId,
        start,
        hash,
      })),
    )
    .execute();
}
