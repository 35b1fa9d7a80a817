import { sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Blocks keys from a workspace. A key that is blocked already keeps the user who blocked it. Lock the workspace first,
 * and call `bumpKeyVersions` last in the transaction.
 * @param block.by null for the `latchkey` command.
 */
export async function blockKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { ids, by }: { readonly ids: readonly KeyId[]; readonly by: UserId | null },
): Promise<void> {
  await sql`
    insert into workspace_key_access (workspace_id, key_id, blocked_at, blocked_by)
    select ${scope.workspaceId}, id, clock_timestamp(), ${by} from unnest(${ids}::uuid[]) id order by id
    on conflict (workspace_id, key_id) do update
      set blocked_at = excluded.blocked_at, blocked_by = excluded.blocked_by
      where workspace_key_access.blocked_at is null`.execute(trx);
}

/**
 * Unblocks keys, and restarts their idle time in the workspace. Lock the workspace first, and call `bumpKeyVersions` last in
 * the transaction.
 */
export async function unblockKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  ids: readonly KeyId[],
): Promise<void> {
  await sql`
    insert into workspace_key_access (workspace_id, key_id, allowed_at)
    select ${scope.workspaceId}, id, clock_timestamp() from unnest(${ids}::uuid[]) id order by id
    on conflict (workspace_id, key_id) do update
      set blocked_at = null, blocked_by = null, allowed_at = excluded.allowed_at`.execute(trx);
}
