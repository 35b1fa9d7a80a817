import { sql } from "kysely";
import type { ConsumerId, KeyspaceId, UserId, WorkspaceId } from "./ids.ts";
import { bumpKeyVersions } from "./key-counters.ts";
import type { Trx } from "./schema.ts";

/**
 * Increments the versions of owners of keys: of users, or of keyspaces and consumers. This invalidates the facts that nodes
 * remember about all of their keys: the next request with each key reads the key again.
 *
 * Call it last in the transaction. The rows are locked in the order of their IDs, and before those of keys, so that two
 * transactions can't deadlock. Admission doesn't wait for them.
 *
 * @param owners.workspaceId the workspace that the change is about; undefined if it affects the keys everywhere.
 */
export async function bumpOwnerVersions(
  trx: Trx,
  owners:
    | { readonly userIds: readonly UserId[]; readonly workspaceId?: WorkspaceId }
    | { readonly ownerIds: readonly (KeyspaceId | ConsumerId)[] },
): Promise<void> {
  const ids = "userIds" in owners ? owners.userIds : owners.ownerIds;
  await sql`
    insert into owner_versions (owner_id, version)
    select distinct id, 1 from unnest(${ids}::uuid[]) as changed (id) order by id
    on conflict (owner_id) do update set version = owner_versions.version + 1`.execute(trx);
  // Nodes of the previous release compare only the versions of users' keys (decision 55). They don't know issued keys.
  if ("userIds" in owners) await bumpKeyVersions(trx, owners);
}
