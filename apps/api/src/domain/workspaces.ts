import { holds, type Narrowing, reaches, readNarrowing } from "@latchkey/auth/narrowing";
import type { Permission } from "@latchkey/auth/permissions";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { findActingKey, isStillActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { countMembers, listWorkspaceIds, lockUsers } from "@latchkey/db/members";
import type { Db, Role, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { enterWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findRole,
  findWorkspace,
  insertWorkspace,
  listMemberIds,
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

/**
 * Makes a workspace with its first owner.
 * @throws {AppError} CONFLICT when no address is free for its name, FORBIDDEN when whoever asks may not act any more.
 */
export async function createWorkspace(
  trx: Trx,
  workspace: { readonly name: string; readonly ownerId: UserId; readonly origin: Origin },
): Promise<Workspace> {
  const { name, ownerId, origin } = workspace;
  await requireStillActing(trx, origin);
  let slug = createSlug(name);
  for (let attempt = 1; attempt <= slugAttempts; attempt += 1) {
    const made = await insertWorkspace(trx, { name, slug, ownerId });
    if (made) {
      const { scope, inside } = made;
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
 * @throws {AppError} PRECONDITION_FAILED at another version, FORBIDDEN when it was deleted meanwhile.
 */
export async function rename(
  trx: Trx,
  edit: Edit,
  change: { readonly name: string; readonly versions: Versions },
): Promise<Workspace> {
  const { scope, origin } = edit;
  const { inside } = await enterToEdit(trx, edit, "workspace:update");
  await requireStillActing(inside, origin);
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

/**
 * Deletes a workspace with everything in it, its audit log too. Once this is committed no key reaches it.
 * @throws {AppError} PRECONDITION_FAILED at another version, FORBIDDEN when it was deleted meanwhile.
 */
export async function remove(trx: Trx, edit: Edit, versions?: Versions): Promise<void> {
  const { inside } = await enterToEdit(trx, edit, "workspace:delete");
  const memberIds = await listMemberIds(inside, edit.scope);
  await requireStillActing(inside, edit.origin, memberIds);
  const isDeleted = await deleteWorkspace(inside, edit.scope, { memberIds, versions });
  if (!isDeleted) throw new AppError("PRECONDITION_FAILED");
}

/**
 * Has a transaction enter a workspace that it is to change, and holds off whoever else would change it. What admitted the
 * request is looked at again behind that lock: since then the role may have changed, the key been deleted, the user
 * disabled.
 * @returns the role of who edits, and what the key that they edit with is held to; the operator's command may do all that
 *   an owner may.
 * @throws {AppError} FORBIDDEN without the permission, also where the workspace is not there, so that nobody may tell that
 *   it ever was; NOT_FOUND for the operator then.
 */
export async function enterToEdit(
  trx: Trx,
  { scope, origin: { actor } }: Edit,
  permission: Permission,
): Promise<{
  readonly inside: WorkspaceTrx;
  readonly role: Role;
  readonly narrowing: Narrowing | undefined;
}> {
  const inside = await enterWorkspace(trx, scope);
  const isThere = await lockWorkspace(inside, scope);
  if (actor.kind === "command") {
    if (isThere) return { inside, role: "owner", narrowing: undefined };
    const id = encodeId("workspace", scope.workspaceId);
    throw new AppError("NOT_FOUND", { message: `There is no workspace ${id}.` });
  }
  const role = isThere
    ? await findRole(inside, { userId: actor.userId, workspaceId: scope.workspaceId })
    : undefined;
  const key = actor.kind === "key" ? await findActingKey(inside, actor.keyId) : undefined;
  const narrowing = key && readNarrowing(key);
  if (!role || !reaches(narrowing, scope.workspaceId) || !holds(role, narrowing, permission)) {
    throw new AppError("FORBIDDEN");
  }
  return { inside, role, narrowing };
}

/**
 * Locks who acts, and the others whom a change is about, and looks whether they may still act.
 * @throws {AppError} FORBIDDEN
 */
export async function requireStillActing(
  trx: Trx,
  { actor }: Origin,
  others: readonly UserId[] = [],
): Promise<void> {
  await lockUsers(trx, actor.kind === "command" ? others : [actor.userId, ...others]);
  if (actor.kind !== "command" && !(await isStillActing(trx, actor))) throw new AppError("FORBIDDEN");
}

/** A workspace as the operator sees it. */
export interface WorkspaceSummary extends Workspace {
  readonly memberCount: number;
}

/** How many workspaces of {@link listAllWorkspaces} are in memory at once. */
const summariesAtOnce = 100;

/**
 * Every workspace of the instance, in the order of their ids; for its operator. One that is made or deleted meanwhile
 * may be among them or not.
 * @param admissionDb a connection in the admission role, which alone can tell what workspaces there are.
 */
export async function* listAllWorkspaces(db: Db, admissionDb: Db): AsyncGenerator<WorkspaceSummary> {
  let after: WorkspaceId | undefined;
  do {
    const ids = await listWorkspaceIds(admissionDb, { after, limit: summariesAtOnce });
    // Ended before they are handed out: whoever takes them may take their time.
    yield* await db.transaction().execute((trx) => summarize(trx, ids));
    after = ids.length === summariesAtOnce ? ids.at(-1) : undefined;
  } while (after);
}

async function summarize(trx: Trx, ids: readonly WorkspaceId[]): Promise<WorkspaceSummary[]> {
  const summaries: WorkspaceSummary[] = [];
  for (const id of ids) {
    const scope = openAsOperator(id);
    const inside = await enterWorkspace(trx, scope);
    const workspace = await findWorkspace(inside, scope);
    if (!workspace) continue; // Deleted meanwhile.
    summaries.push({ ...workspace, memberCount: await countMembers(inside, scope, {}) });
  }
  return summaries;
}
