import { sql } from "kysely";
import { isPerson } from "./user-kind.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Counts the people and the service accounts in a workspace. */
export async function countMembersByKind(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<{ readonly memberCount: number; readonly serviceAccountCount: number }> {
  return await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere(isPerson()).as("memberCount"),
      eb.fn.countAll<number>().filterWhere(sql<boolean>`not ${isPerson()}`).as("serviceAccountCount"),
    ])
    .where("members.workspace_id", "=", scope.workspaceId)
    .executeTakeFirstOrThrow();
}
