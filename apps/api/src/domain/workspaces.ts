import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { enterWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findWorkspace,
  insertWorkspace,
  lockWorkspace,
  renameWorkspace,
  type Workspace,
} from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { createSlug, randomSlugSuffix } from "./slug.ts";

/** Which workspace is changed, and who changes it from where. */
export interface Edit {
  readonly scope: WorkspaceScope;
  readonly origin: Origin;
}

const slugAttempts = 5;

/** Makes a workspace with its first owner. @throws {AppError} CONFLICT when no address is free for its name. */
export async function createWorkspace(
  trx: Trx,
  workspace: { readonly name: string; readonly ownerId: UserId; readonly origin: Origin },
): Promise<Workspace> {
  const { name, ownerId, origin } = workspace;
  let slug = createSlug(name);
  for (let attempt = 1; attempt <= slugAttempts; attempt += 1) {
    const scope = await insertWorkspace(trx, { name, slug, ownerId });
    if (scope) {
      const inside = await enterWorkspace(trx, scope);
      const change = { action: "workspace.created", targetId: scope.workspaceId, after: { name } } as const;
      await appendAudit(inside, scope, origin, change);
      return await getWorkspace(inside, scope);
    }
    slug = createSlug(name, randomSlugSuffix());
  }
  throw new AppError("CONFLICT", { message: "No free address was found for this workspace's name." });
}

/** @throws {AppError} FORBIDDEN when it was deleted since somebody was let in: nobody may tell that it ever was. */
export async function getWorkspace(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<Workspace> {
  const workspace = await findWorkspace(trx, scope);
  if (!workspace) throw new AppError("FORBIDDEN");
  return workspace;
}

/**
 * Gives a workspace another name; its address stays.
 * @param change.versions what the edit may have been made from; undefined for whatever it is.
 * @throws {AppError} PRECONDITION_FAILED at another version, FORBIDDEN when it was deleted meanwhile.
 */
export async function rename(
  trx: Trx,
  { scope, origin }: Edit,
  change: { readonly name: string; readonly versions: readonly number[] | undefined },
): Promise<Workspace> {
  const inside = await enterWorkspace(trx, scope);
  if (!(await lockWorkspace(inside, scope))) throw new AppError("FORBIDDEN");
  const before = await getWorkspace(inside, scope);
  const renamed = await renameWorkspace(inside, scope, change);
  if (!renamed) throw new AppError("PRECONDITION_FAILED");
  await appendAudit(inside, scope, origin, {
    action: "workspace.renamed",
    targetId: scope.workspaceId,
    before: { name: before.name },
    after: { name: renamed.name },
  });
  return renamed;
}

/** Deletes a workspace with everything in it, its audit log too. Once this is committed no key reaches it. */
export async function remove(trx: Trx, { scope }: Edit): Promise<void> {
  const inside = await enterWorkspace(trx, scope);
  if (!(await lockWorkspace(inside, scope))) throw new AppError("FORBIDDEN");
  await deleteWorkspace(inside, scope);
}
