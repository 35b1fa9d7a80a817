import type { Permission } from "@latchkey/auth/permissions";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import { findActingKey, isUserActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import type { SessionId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { isSessionLive } from "@latchkey/db/sessions";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { requireKeyAllows } from "./require-still-acting.ts";

/** Who exports data of a workspace, and the permission that this takes. */
export interface ExportCaller extends Pick<Origin, "actor" | "address"> {
  readonly permission: Permission;
  /** The session of a person. A key needs no second factor. */
  readonly session?: { readonly id: SessionId; readonly hasSecondFactor: boolean };
}

/**
 * Checks, based on the current data, that a person or a key may still read what is exported, because an export can take longer
 * than a change to a role, a session or a key.
 * @throws {AppError} FORBIDDEN
 */
export async function requireExportAccess(
  db: Db,
  scope: WorkspaceScope,
  { actor, address, permission, session }: ExportCaller,
): Promise<void> {
  if (actor.kind === "command") return;
  const hasSecondFactor = session?.hasSecondFactor ?? actor.kind === "key";
  const { workspaceId } = scope;
  await requireWorkspaceAccess(db, { userId: actor.userId, workspaceId, hasSecondFactor }, permission);
  if (!(await isUserActing(db, actor.userId))) throw new AppError("FORBIDDEN");
  if (session && !(await isSessionLive(db, session.id))) throw new AppError("FORBIDDEN");
  if (actor.kind !== "key") return;
  const settings = await findActingKey(db, actor);
  if (!settings) throw new AppError("FORBIDDEN");
  const requirement = { scope, permission } as const;
  await inWorkspace(db, scope, (trx) =>
    requireKeyAllows(trx, { keyId: actor.keyId, settings }, { address, requirement }),
  );
}
