import type { Requirement } from "@latchkey/auth/judge";
import { type Permission, roleHolds } from "@latchkey/auth/permissions";
import {
  allowsAddress,
  allowsPermission,
  allowsWorkspace,
  compileRestrictions,
  isRestricted,
  limitsAccess,
  type Restrictions,
} from "@latchkey/auth/restrictions";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { isUserActing, lockActingKey } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { countMembers, listOwnedWorkspaces, listWorkspaceIds, lockUsers } from "@latchkey/db/members";
import type { Db, Role, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import {
  type NewWorkspaceFields,
  type WorkspaceFieldChanges,
  type WorkspaceFields,
  workspaceFieldActions,
} from "@latchkey/db/workspace-fields";
import {
  enterAsUser,
  enterWorkspace,
  type WorkspaceScope,
  type WorkspaceTrx,
} from "@latchkey/db/workspace-scope";
import {
  deleteWorkspace,
  findRole,
  findWorkspace,
  insertWorkspace,
  listMemberIds,
  lockWorkspace,
  updateWorkspace,
  type Workspace,
} from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { type Quotas, requireRoom } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { createSlug, randomSlugSuffix } from "./slug.ts";

/** Which workspace is changed, and who changes it from where. */
export interface Edit {
  readonly scope: WorkspaceScope;
  readonly origin: Origin;
}

const slugAttempts = 5;

/**
 * Makes a workspace with its first owner.
 * @throws {AppError} CONFLICT when no address is free for its name, FORBIDDEN when the user is disabled,
 *   UNPROCESSABLE_CONTENT at the quota.
 */
export async function createWorkspace(
  trx: Trx,
  workspace: NewWorkspaceFields & { readonly ownerId: UserId; readonly origin: Origin },
  quotas: Quotas,
): Promise<Workspace> {
  const { ownerId, origin, ...fields } = workspace;
  // With the owner locked, their creations follow each other, so that none counts without the others.
  await requireStillActing(trx, origin, { others: [ownerId], requirement: "unrestricted" });
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, ownerId), ownerId);
  requireRoom(quotas, "workspacesPerUser", owned.length);
  let slug = createSlug(fields.name);
  for (let attempt = 1; attempt <= slugAttempts; attempt += 1) {
    const made = await insertWorkspace(trx, { ...fields, slug, ownerId });
    if (made) {
      const { scope, inside } = made;
      const change = {
        action: "workspace.created",
        targetId: scope.workspaceId,
        after: { name: fields.name },
      } as const;
      await appendAudit(inside, scope, origin, change);
      return await getWorkspace(inside, scope);
    }
    slug = createSlug(fields.name, randomSlugSuffix());
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
 * Changes fields of a workspace; its slug stays. The audit log gets one event per field whose value differs.
 * @throws {AppError} BAD_REQUEST without a field, PRECONDITION_FAILED at another version, FORBIDDEN if the workspace was deleted concurrently.
 */
export async function update(
  trx: Trx,
  edit: Edit,
  change: { readonly fields: WorkspaceFieldChanges; readonly versions: Versions },
): Promise<Workspace> {
  requireChange(change.fields);
  const { scope, origin } = edit;
  const permission = "workspace:update";
  const { inside } = await enterToEdit(trx, edit, permission);
  await requireStillActing(inside, origin, { requirement: { workspaceId: scope.workspaceId, permission } });
  const before = await getWorkspace(inside, scope);
  const updated = await updateWorkspace(inside, scope, change);
  if (!updated) throw new AppError("PRECONDITION_FAILED");
  for (const field of Object.keys(workspaceFieldActions) as (keyof WorkspaceFields)[]) {
    // Its keys are exactly these.
    if (before[field] === updated[field]) continue;
    await appendAudit(inside, scope, origin, {
      action: workspaceFieldActions[field],
      targetId: scope.workspaceId,
      before: { [field]: before[field] },
      after: { [field]: updated[field] },
    });
  }
  return updated;
}

/**
 * Deletes a workspace with everything in it, its audit log too. Once this is committed no key reaches it.
 * @throws {AppError} PRECONDITION_FAILED at another version, FORBIDDEN when it was deleted meanwhile.
 */
export async function remove(trx: Trx, edit: Edit, versions?: Versions): Promise<void> {
  const permission = "workspace:delete";
  const { inside } = await enterToEdit(trx, edit, permission);
  const memberIds = await listMemberIds(inside, edit.scope);
  const requirement = { workspaceId: edit.scope.workspaceId, permission } as const;
  await requireStillActing(inside, edit.origin, { others: memberIds, requirement });
  const isDeleted = await deleteWorkspace(inside, edit.scope, { memberIds, versions });
  if (!isDeleted) throw new AppError("PRECONDITION_FAILED");
}

/**
 * Has a transaction enter a workspace that it is to change, and holds off whoever else would change it. What admitted the
 * request is looked at again behind that lock: since then the role may have changed. What has become of user and key
 * {@link requireStillActing} looks at, which comes next.
 * @returns the role of who edits; the operator's command may do all that an owner may.
 * @throws {AppError} FORBIDDEN without the permission, also where the workspace is not there, so that nobody may tell that
 *   it ever was; NOT_FOUND for the operator then.
 */
export async function enterToEdit(
  trx: Trx,
  { scope, origin: { actor } }: Edit,
  permission: Permission,
): Promise<{ readonly inside: WorkspaceTrx; readonly role: Role }> {
  const inside = await enterWorkspace(trx, scope);
  const isThere = await lockWorkspace(inside, scope);
  if (actor.kind === "command") {
    return isThere ? { inside, role: "owner" } : workspaceNotFound(scope.workspaceId);
  }
  const role = isThere
    ? await findRole(inside, { userId: actor.userId, workspaceId: scope.workspaceId })
    : undefined;
  if (!role || !roleHolds(role, permission)) throw new AppError("FORBIDDEN");
  return { inside, role };
}

/** The key that somebody acts by, as it is behind the lock. */
export interface ActingKey {
  readonly keyId: KeyId;
  readonly restrictions: Restrictions | undefined;
  readonly isRestricted: boolean;
  readonly isByFormerSecret: boolean;
}

/**
 * Locks who acts, and the others whom a change is about, and looks whether they may still act.
 * @param requirement what the key that they act by, if they do, must still allow.
 * @returns that key.
 * @throws {AppError} FORBIDDEN
 */
export async function requireStillActing(
  trx: Trx,
  { actor, address }: Origin,
  {
    others = [],
    requirement,
  }: { readonly others?: readonly UserId[]; readonly requirement?: Requirement } = {},
): Promise<ActingKey | undefined> {
  await lockUsers(trx, actor.kind === "command" ? others : [actor.userId, ...others]);
  if (actor.kind === "command") return undefined;
  if (!(await isUserActing(trx, actor.userId))) throw new AppError("FORBIDDEN");
  if (actor.kind === "session") return undefined;
  const key = await lockActingKey(trx, actor);
  if (!key) throw new AppError("FORBIDDEN");
  const { settings, isByFormerSecret } = key;
  const restrictions = compileRestrictions(settings);
  if (requirement && !meetsRequirement(restrictions, requirement)) throw new AppError("FORBIDDEN");
  if (!allowsAddress(restrictions, address ?? undefined)) throw new AppError("FORBIDDEN");
  return { keyId: actor.keyId, restrictions, isRestricted: isRestricted(settings), isByFormerSecret };
}

function meetsRequirement(restrictions: Restrictions | undefined, requirement: Requirement): boolean {
  if (requirement === "unrestricted") return !limitsAccess(restrictions);
  const { workspaceId, permission } = requirement;
  return allowsWorkspace(restrictions, workspaceId) && allowsPermission(restrictions, permission);
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

/** @throws {AppError} NOT_FOUND */
export async function getWorkspaceSummary(trx: Trx, id: WorkspaceId): Promise<WorkspaceSummary> {
  const [summary] = await summarize(trx, [id]);
  return summary ?? workspaceNotFound(id);
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

/** For the operator alone: to everybody else a workspace that is not there is like one that is not theirs. */
function workspaceNotFound(id: WorkspaceId): never {
  throw new AppError("NOT_FOUND", { message: `There is no workspace ${encodeId("workspace", id)}.` });
}
