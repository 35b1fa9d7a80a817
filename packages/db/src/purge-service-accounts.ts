import { sql } from "kysely";
import type { WorkspaceId } from "./ids.ts";
import type { WorkspaceTrx } from "./workspace-scope.ts";

// Steps that purge the service accounts of a deleted workspace. Each deletes at most `limit` rows and returns how many. Rows that
// another transaction has locked are left for a later round.

/** The API keys of the service accounts of a workspace, as `key`. All of these accounts are disabled. */
const keysOf = (id: WorkspaceId) => sql`
  users account join api_keys key on key.user_id = account.id where account.service_workspace_id = ${id}`;

/** Deletes old secrets of API keys. */
export async function purgeSecrets(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from retired_secrets where hash = any(array(
      select secret.hash from retired_secrets secret
      where secret.key_id in (select key.id from ${keysOf(id)})
      limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number(numAffectedRows);
}

/**
 * Deletes API keys and, by a trigger, their counters, which it locks first. Because it waits for no lock on a counter, it can't
 * deadlock with admission.
 */
export async function purgeKeys(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { rows } = await sql<{ purged: number }>`
    with chosen as materialized (
      select key.id from ${keysOf(id)}
        and not exists (select from retired_secrets where key_id = key.id)
      limit ${limit} for update of key skip locked
    ),
    counters as materialized (
      select key_id from key_counters where key_id in (select id from chosen) for update skip locked
    ),
    purged as (
      delete from api_keys where id in (select key_id from counters) returning id
    )
    select count(*) as purged from purged`.execute(trx);
  return rows[0]?.purged ?? 0;
}

/** Deletes service accounts without keys, and their versions as owners, which no key remembers any more. */
export async function purgeAccounts(trx: WorkspaceTrx, id: WorkspaceId, limit: number): Promise<number> {
  const { rows } = await sql<{ purged: number }>`
    with chosen as materialized (
      select id from users account
      where service_workspace_id = ${id} and not exists (select from api_keys where user_id = account.id)
      limit ${limit} for update skip locked
    ),
    purged as (
      delete from users where id in (select id from chosen) returning id
    ),
    versions as (
      delete from owner_versions where owner_id in (select id from purged)
    )
    select count(*) as purged from purged`.execute(trx);
  return rows[0]?.purged ?? 0;
}
