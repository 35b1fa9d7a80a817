import type { Permission } from "@latchkey/auth/permissions";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import { findActingKey, isUserActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import type { Db } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { isSessionLive } from "@latchkey/db/sessions";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { requireKeyAllows } from "./require-still-acting.ts";

/** Who exports data of a workspace, and the permission that this takes. */
export interface ExportCaller extends Pick<Origin, "actor" | "address"> {
  readonly permission: Permission;
}

/**
 * Checks, based on the current data, that a person or a key may still read what is exported, because an export can take longer
 * than a change to a role, a session, a second factor or a key.
 * @throws {AppError} FORBIDDEN
 */
export async function requireExportAccess(
  db: Db,
  scope: WorkspaceScope,
  { actor, address, permission }: ExportCaller,
): Promise<void> {
  if (actor.kind === "command") return;
  const { userId } = actor;
  const { workspaceId } = scope;
  // For a key, `requireKeyAllows` checks whether its owner needs a second factor.
  const hasFactor = actor.kind === "key" || (await hasSecondFactor(db, userId));
  await requireWorkspaceAccess(db, { userId, workspaceId, hasSecondFactor: hasFactor }, permission);
  if (!(await isUserActing(db, userId))) throw new AppError("FORBIDDEN");
  if (actor.kind === "session") {
    if (actor.sessionId && !(await isSessionLive(db, actor.sessionId))) throw new AppError("FORBIDDEN");
    return;
  }
  const settings = await findActingKey(db, actor);
  if (!settings) throw new AppError("FORBIDDEN");
  const requirement = { scope, permission } as const;
  await inWorkspace(db, scope, (trx) =>
    requireKeyAllows(trx, { keyId: actor.keyId, settings }, { address, requirement }),
  );
}
