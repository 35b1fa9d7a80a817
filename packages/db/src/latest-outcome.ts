import { sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import { findLastUse } from "./keyspace-last-use.ts";
import { useOutcome } from "./keyspace-usage.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * The outcome of the verifications of a keyspace in the latest hour that has any: `VALID` if it is among them, and otherwise
 * the last one in alphabetical order. If the history, which covers `HISTORY_DAYS`, has no verification, it is `VALID` if a key
 * was used more than a minute ago ({@link findLastUse}), and otherwise undefined. The history has a later use within seconds, and
 * until then, no page shows it.
 */
export async function findLatestOutcome(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  keyspace: { readonly id: KeyspaceId; readonly keyCount: number },
): Promise<string | undefined> {
  const { rows } = await sql<{ outcome: string }>`
    select outcome from keyspace_usage_hours
    where workspace_id = ${scope.workspaceId} and subject_id = ${keyspace.id}
    order by hour desc, outcome desc limit 1`.execute(trx);
  if (rows[0] || keyspace.keyCount === 0) return rows[0]?.outcome;
  const { at } = await findLastUse(trx, scope, keyspace);
  const { rows: uses } = await sql<{ isOld: boolean | null }>`
    select ${at}::timestamptz < now() - interval '1 minute' as "isOld"`.execute(trx);
  return uses[0]?.isOld ? useOutcome : undefined;
}
