import { sql } from "kysely";
import type { KeyspaceId } from "./ids.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * The outcome of the verifications of a keyspace in the latest hour that has any: `VALID` if it is among them, and otherwise
 * the last one in alphabetical order. Undefined if the history, which
 * covers `HISTORY_DAYS`, has no verification.
 */
export async function findLatestOutcome(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  keyspaceId: KeyspaceId,
): Promise<string | undefined> {
  const { rows } = await sql<{ outcome: string }>`
    select outcome from keyspace_usage_hours
    where workspace_id = ${workspaceId} and subject_id = ${keyspaceId}
    order by hour desc, outcome desc limit 1`.execute(trx);
  return rows[0]?.outcome;
}
