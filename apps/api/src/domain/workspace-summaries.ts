import { openAsOperator } from "@latchkey/auth/workspace-access";
import { countMembersByKind } from "@latchkey/db/count-members-by-kind";
import type { WorkspaceId } from "@latchkey/db/ids";
import { listWorkspaceIds } from "@latchkey/db/memberships";
import type { Db, Trx } from "@latchkey/db/schema";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { findWorkspace, type Workspace } from "@latchkey/db/workspaces";
import { workspaceNotFound } from "./enter-for-edit.ts";

/** A workspace as the operator sees it. */
export interface WorkspaceSummary extends Workspace {
  /** People. */
  readonly memberCount: number;
  readonly serviceAccountCount: number;
}

/** How many workspaces {@link listAllWorkspaces} keeps in memory at a time. */
const summariesPerPage = 100;

/**
 * Lists every workspace of the instance by ID, for the operator. A workspace that is created or deleted while the list
 * is read may be missing.
 * @param admissionDb a connection in the admission role, the only role that can list all workspaces.
 */
export async function* listAllWorkspaces(db: Db, admissionDb: Db): AsyncGenerator<WorkspaceSummary> {
  let after: WorkspaceId | undefined;
  do {
    const ids = await listWorkspaceIds(admissionDb, { after, limit: summariesPerPage });
    // Ends the transaction before yielding, because the consumer may take any amount of time.
    yield* await db.transaction().execute((trx) => summarize(trx, ids));
    after = ids.length === summariesPerPage ? ids.at(-1) : undefined;
  } while (after);
}

/** @throws {AppError} NOT_FOUND */
export async function getWorkspaceSummary(trx: Trx, id: WorkspaceId): Promise<WorkspaceSummary> {
  const [summary] = await summarize(trx, [id]);
  return summary ?? workspaceNotFound(id);
}

async function summarize(trx: Trx, ids: readonly WorkspaceId[]): Promise<WorkspaceSummary[]> {
  const summaries: WorkspaceSummary[] = [];
  for (const id of ids) {
    const scope = openAsOperator(id);
    const workspaceTrx = await enterWorkspace(trx, scope);
    const workspace = await findWorkspace(workspaceTrx, scope);
    if (!workspace) continue; // Deleted concurrently.
    summaries.push({ ...workspace, ...(await countMembersByKind(workspaceTrx, scope)) });
  }
  return summaries;
}
