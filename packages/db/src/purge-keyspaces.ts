import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { KeyspaceId, WorkspaceId } from "./ids.ts";
import { areUsesLocked } from "./issued-key-uses.ts";
import type { DeleteBatch } from "./purge-round.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** How many deleted keyspaces of a workspace one step visits at most, the longest deleted first. */
const keyspacesPerStep = 50;

/**
 * Creates a rule that deletes rows of deleted keyspaces: old secrets, then keys and consumers with their counters. The record
 * of the deletion goes last, when nothing else is left. Workspaces take turns.
 *
 * Rows that another transaction has locked are left for a later round. Because no statement waits for a lock on a counter, and
 * those that wait for uses lock them in their order, the purge can't deadlock with admission.
 */
export function createKeyspacePurge(): DeleteBatch {
  return createFairPurge({
    listWorkspaces: async (trx, { after, limit }) => {
      const { rows } = await sql<{ id: WorkspaceId }>`
        select distinct workspace_id as id from deleted_keyspaces
        ${after ? sql`where workspace_id > ${after}` : sql``}
        order by workspace_id limit ${limit}`.execute(trx);
      return rows.map(({ id }) => id);
    },
    purge: purgeWorkspace,
  });
}

async function purgeWorkspace(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  const keyspaces = await trx
    .selectFrom("deleted_keyspaces")
    .select("id")
    .where("workspace_id", "=", workspaceId)
    .orderBy("deleted_at")
    .orderBy("id")
    .limit(keyspacesPerStep)
    .execute();
  let count = 0;
  for (const { id } of keyspaces)
    for (const purge of [purgeSecrets, purgeKeys, purgeConsumers, purgeRecord])
      if (count < limit) count += await purge(trx, id, limit - count);
  return count;
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
      delete from issued_keys
      where id in (select key_id from counters) and ${areUsesLocked(sql`array(select key_id from counters)`)}
      returning id
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
