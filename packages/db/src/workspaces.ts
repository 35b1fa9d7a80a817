import { createId, type UserId, type WorkspaceId } from "./ids.ts";
import type { Db, Role, Trx } from "./schema.ts";

/** A workspace as one of its members sees it. */
export interface Membership {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly slug: string;
  readonly role: Role;
  readonly createdAt: Date;
}

/** Adds a workspace with its first owner; undefined when the slug is taken. */
export async function insertWorkspace(
  trx: Trx,
  workspace: { readonly name: string; readonly slug: string; readonly ownerId: UserId },
): Promise<WorkspaceId | undefined> {
  const row = await trx
    .insertInto("workspaces")
    .values({ id: createId("workspace"), name: workspace.name, slug: workspace.slug })
    .onConflict((conflict) => conflict.column("slug").doNothing())
    .returning("id")
    .executeTakeFirst();
  if (!row) return undefined;
  await trx
    .insertInto("members")
    .values({ workspace_id: row.id, user_id: workspace.ownerId, role: "owner" })
    .execute();
  return row.id;
}

/** The workspaces that a user belongs to, oldest first, at most `limit` of those after the workspace `after`. */
export async function listMemberships(
  db: Db,
  userId: UserId,
  page: { readonly limit: number; readonly after?: WorkspaceId | undefined },
): Promise<Membership[]> {
  return await db
    .selectFrom("members")
    .innerJoin("workspaces", "workspaces.id", "members.workspace_id")
    .select([
      "workspaces.id",
      "workspaces.name",
      "workspaces.slug",
      "members.role",
      "workspaces.created_at as createdAt",
    ])
    .where("members.user_id", "=", userId)
    .$if(page.after !== undefined, (query) => query.where("workspaces.id", ">", page.after as WorkspaceId)) // Guarded by the condition beside it.
    .orderBy("workspaces.id")
    .limit(page.limit)
    .execute();
}
