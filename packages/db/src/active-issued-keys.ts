import { sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import { isExpired, statusOf } from "./issued-key-status.ts";
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
  // Only keys whose stored balance is 0 can be out of credits. To compute what each of 10,000 keys has after a refill took 0.3 s.
  const { rows } = await sql<{ count: number }>`
    with key as materialized (
      select id, disabled_at, expires_at, refill from issued_keys
      where keyspace_id = ${id} and workspace_id = ${workspaceId}
      order by created_at desc, id desc limit ${maxExaminedKeys}
    ), spent as materialized (
      select key_id, credits, credits_refilled_at from key_counters
      where key_id = any((select array_agg(id) from key)::uuid[]) and credits = 0
    )
    select count(*) filter (where case
      when spent.key_id is null then key.disabled_at is null and not ${isExpired("key")}
      else ${statusOf("key", "spent")} = 'active' end
    ) as count
    from key left join spent on spent.key_id = key.id`.execute(trx);
  return rows[0]?.count ?? 0;
}
