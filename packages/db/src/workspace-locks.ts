import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Prevents the deletion of a workspace until the transaction ends, without blocking other changes of it. Returns false if
 * it was already deleted.
 */
export async function lockWorkspaceAgainstDeletion(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<boolean> {
  const row = await trx
    .selectFrom("workspaces")
    .select("id")
    .where("id", "=", scope.workspaceId)
    .forKeyShare()
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Locks a workspace against other changes of its members or settings until the transaction ends. Returns false if it
 * does not exist. If its last two owners leave at the same time, this lock makes one wait for the other.
 */
export async function lockWorkspace(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<boolean> {
  const row = await trx
    .selectFrom("workspaces")
    .select("id")
    .where("id", "=", scope.workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Keeps the members of a workspace as they are until the transaction ends: transactions that {@link lockWorkspace} wait,
 * but not others that call this.
 * @returns false, without waiting, if another transaction has locked the workspace.
 */
export async function tryLockMembers(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<boolean> {
  const row = await trx
    .selectFrom("workspaces")
    .select("id")
    .where("id", "=", scope.workspaceId)
    .forShare()
    .skipLocked()
    .executeTakeFirst();
  return row !== undefined;
}
