import type { UserId, WorkspaceId } from "./ids.ts";
import type { Db } from "./schema.ts";
import type { UserTrx } from "./workspace-scope.ts";

/** Counts the workspaces that a user is a member of. */
export async function countMemberships(trx: UserTrx, userId: UserId): Promise<number> {
  const { count } = await trx
    .selectFrom("members")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  return count;
}

/** Lists the workspaces that a user owns. */
export async function listOwnedWorkspaces(trx: UserTrx, userId: UserId): Promise<WorkspaceId[]> {
  const rows = await trx
    .selectFrom("members")
    .select("workspace_id")
    .where("user_id", "=", userId)
    .where("role", "=", "owner")
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/**
 * Returns a page of the IDs of all workspaces of the instance, in order. Reads `members`, because every workspace has a
 * member, its owner.
 * @param db a connection in the admission role. Row-level security shows any other role at most one workspace.
 * @param page.after only IDs after this one.
 */
export async function listWorkspaceIds(
  db: Db,
  { after, limit }: { readonly after: WorkspaceId | undefined; readonly limit: number },
): Promise<WorkspaceId[]> {
  const query = db.selectFrom("members").select("workspace_id").distinct();
  const rows = await (after ? query.where("workspace_id", ">", after) : query)
    .orderBy("workspace_id")
    .limit(limit)
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}
