import { sql } from "kysely";
import type { ConsumerId, KeyspaceId, UserId, WorkspaceId } from "./ids.ts";
import type { Trx } from "./schema.ts";

/**
 * Increments the versions of owners of keys: of users, workspaces, keyspaces and consumers. This invalidates the facts that nodes
 * remember about all of their keys: the next request with each key reads the key again.
 *
 * Call it after all other changes and before the counters of keys or consumers are locked. The rows are locked in the order of
 * their IDs, so that two transactions can't deadlock. Admission doesn't wait for them.
 */
export async function bumpOwnerVersions(
  trx: Trx,
  ids: readonly (UserId | WorkspaceId | KeyspaceId | ConsumerId)[],
): Promise<void> {
  await sql`
    insert into owner_versions (owner_id, version)
    select distinct id, 1 from unnest(${ids}::uuid[]) as changed (id) order by id
    on conflict (owner_id) do update set version = owner_versions.version + 1`.execute(trx);
}
