import type { Permission } from "@latchkey/auth/permissions";
import type { Trx } from "@latchkey/db/schema";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { requireStillActing } from "./require-still-acting.ts";

/**
 * Enters a workspace to change something in it that needs one permission, and checks the actor under the lock.
 * @throws {AppError} FORBIDDEN without the permission.
 */
export async function enterToManage(trx: Trx, edit: Edit, permission: Permission): Promise<WorkspaceTrx> {
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  const requirement = { scope: edit.scope, permission } as const;
  await requireStillActing(workspaceTrx, edit.origin, { requirement });
  return workspaceTrx;
}
