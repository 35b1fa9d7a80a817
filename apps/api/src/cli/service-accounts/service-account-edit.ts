import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import type { Edit } from "../../domain/enter-for-edit.ts";
import { getServiceWorkspace } from "../../domain/service-accounts.ts";
import { commandOrigin } from "../command-origin.ts";

/** @throws {AppError} NOT_FOUND */
export async function findServiceAccountEdit(
  db: Db,
  userId: UserId,
): Promise<{ readonly workspaceId: WorkspaceId; readonly edit: Edit }> {
  const workspaceId = await getServiceWorkspace(db, userId);
  return { workspaceId, edit: { scope: openAsOperator(workspaceId), origin: commandOrigin } };
}
