import { sql } from "kysely";
import type { KeyspaceId, WorkspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { Db } from "./schema.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";

/** How many deleted keyspaces one step visits at most, the longest deleted first. */
const keyspacesPerStep = 50;

/**
 * Deletes at most `limit` rows of deleted keyspaces: old secrets, then keys and consumers with their counters. The record of
 * the deletion goes last, when nothing else is left.
 *
 * Rows that another transaction has locked are left for a later round. Because no statement waits for a lock on a counter, the
 * purge can't deadlock with admission, which locks counters in their order.
 * @returns how many rows it deleted.
 */
export async function purgeDeletedKeyspaces(db: Db, limit: number): Promise<number> {
  let count = 0;
  for (const { id, workspaceId } of await listDeletedKeyspaces(db)) {
    if (count >= limit) break;
    // Nothing in the keyspace can be read any more, so no permission is needed.
    const scope = mintWorkspaceScope(workspaceId);
    for (const purge of [purgeSecrets, purgeKeys, purgeConsumers, purgeRecord]) {
      const left = limit - count;
      if (left > 0) count += await inWorkspace(db, scope, (trx) => purge(trx, id, left));
    }
  }
  return count;
}

interface DeletedKeyspace {
  readonly id: KeyspaceId;
  readonly workspaceId: WorkspaceId;
}

async function listDeletedKeyspaces(db: Db): Promise<DeletedKeyspace[]> {
  return await db.transaction().execute(async (trx) => {
    // Only the admission role sees more than one workspace. The purger has a single connection.
    await sql`set local role latchkey_admission`.execute(trx);
    return await trx
      .selectFrom("deleted_keyspaces")
      .select(["id", "workspace_id as workspaceId"])
      .orderBy("deleted_at")
      .limit(keyspacesPerStep)
      .execute();
  });
}

async function purgeSecrets(trx: WorkspaceTrx, id: KeyspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from retired_issued_secrets where ctid = any(array(
      select ctid from retired_issued_secrets where keyspace_id = ${id} limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}

/** A trigger deletes the counters, which are locked first. A key that has old secrets left stays. */
async function purgeKeys(trx: WorkspaceTrx, id: KeyspaceId, limit: number): Promise<number> {
  const { rows } = await sql<{ purged: number }>`
    with chosen as materialized (
      select id from issued_keys key
      where keyspace_id = ${id} and not exists (select from retired_issued_secrets where key_id = key.id)
      limit ${limit} for update skip locked
    ),
    counters as materialized (
      select key_id from key_counters where key_id in (select id from chosen) for update skip locked
    ),
    purged as (
      delete from issued_keys where id in (select key_id from counters) returning id
    )
    select count(*) as purged from purged`.execute(trx);
  return rows[0]?.purged ?? 0;
}

/**
 * A trigger deletes the counters, which are locked first. The version of a consumer as an owner can be deleted, because no
 * counter of its keys is left, so that no request can be allowed by remembered facts about them.
 */
async function purgeConsumers(trx: WorkspaceTrx, id: KeyspaceId, limit: number): Promise<number> {
  const { rows } = await sql<{ purged: number }>`
    with chosen as materialized (
      select id from consumers
      where keyspace_id = ${id} and not exists (select from issued_keys where keyspace_id = ${id})
      limit ${limit} for update skip locked
    ),
    counters as materialized (
      select key_id from key_counters where key_id in (select id from chosen) for update skip locked
    ),
    purged as (
      delete from consumers where id in (select key_id from counters) returning id
    ),
    versions as (
      delete from owner_versions where owner_id in (select id from purged)
    )
    select count(*) as purged from purged`.execute(trx);
  return rows[0]?.purged ?? 0;
}

/** Deletes what is stored about a deleted keyspace itself, if nothing else of it is left. */
async function purgeRecord(trx: WorkspaceTrx, id: KeyspaceId): Promise<number> {
  const { rows } = await sql<{ purged: number }>`
    with purged as (
      delete from deleted_keyspaces where id = ${id}
        and not exists (select from retired_issued_secrets where keyspace_id = ${id})
        and not exists (select from issued_keys where keyspace_id = ${id})
        and not exists (select from consumers where keyspace_id = ${id})
      returning id
    ),
    versions as (
      delete from owner_versions where owner_id in (select id from purged)
    ),
    counts as (
      delete from issued_key_counts where keyspace_id in (select id from purged)
    )
    select count(*) as purged from purged`.execute(trx);
  return rows[0]?.purged ?? 0;
}
