import { sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import { statusOf } from "./issued-key-status.ts";
import { maxExaminedKeys } from "./keyspace-last-use.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Counts the keys of a keyspace that are neither disabled, expired nor out of credits, among the newest
 * {@link maxExaminedKeys}. Whether the keyspace is disabled makes no difference.
 */
export async function countActiveKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  id: KeyspaceId,
): Promise<number> {
  // `offset 0` keeps Postgres from reading all counters.
  const { rows } = await sql<{ count: number }>`
    select count(*) filter (where ${statusOf("key", "counter")} = 'active') as count
    from (
      select id, disabled_at, expires_at, refill from issued_keys
      where keyspace_id = ${id} and workspace_id = ${workspaceId}
      order by created_at desc, id desc limit ${maxExaminedKeys}
    ) as key
    cross join lateral (
      select credits, credits_refilled_at from key_counters where key_id = key.id offset 0
    ) as counter`.execute(trx);
  return rows[0]?.count ?? 0;
}
