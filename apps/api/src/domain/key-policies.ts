import {
  getPolicy,
  listViolatedPolicies,
  putPolicy,
  type StoredPolicy,
  type ViolatedPolicy,
} from "@latchkey/db/api-key-policies";
import type { Details } from "@latchkey/db/audit-actions";
import { appendAudit, appendAuditEvents } from "@latchkey/db/audit-events";
import type { KeyId, UserId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { type ApiKeyPolicy, allowsMoreKeys, defaultPolicy } from "@latchkey/db/key-policy";
import { defaultSettings } from "@latchkey/db/key-settings";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { blockKeys, unblockKeys } from "@latchkey/db/workspace-key-access";
import { findWorkspaceKeys, listWorkspaceKeyPage, type WorkspaceKey } from "@latchkey/db/workspace-keys";
import { asUser, inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { listMemberIds } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { type RequestedSettings, resolveExpiry } from "./key-expiry.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";

/** An edit of a policy: the members that are present replace the stored ones. */
export type PolicyChanges = { readonly [Name in keyof ApiKeyPolicy]?: ApiKeyPolicy[Name] | undefined };

const permission = "api-keys:manage";
const policyFields = Object.keys(defaultPolicy) as readonly (keyof ApiKeyPolicy)[]; // The object's keys.

/** The policy that an edit results in. */
export function applyChanges(policy: ApiKeyPolicy, changes: PolicyChanges): ApiKeyPolicy {
  const { maxLifetimeDays, isExpiryRequired, areIpRangesRequired, maxIdleDays } = policy;
  return {
    maxLifetimeDays: changes.maxLifetimeDays === undefined ? maxLifetimeDays : changes.maxLifetimeDays,
    isExpiryRequired: changes.isExpiryRequired ?? isExpiryRequired,
    areIpRangesRequired: changes.areIpRangesRequired ?? areIpRangesRequired,
    maxIdleDays: changes.maxIdleDays === undefined ? maxIdleDays : changes.maxIdleDays,
  };
}

/**
 * Changes the policy of a workspace for the API keys that reach it. Once this is committed, every node applies it.
 * @throws {AppError} BAD_REQUEST without a member, PRECONDITION_FAILED at another version, the errors of
 *   {@link enterForEdit}, and those of {@link requireRecentAuthentication} if the policy would allow more keys.
 */
export async function changePolicy(
  trx: Trx,
  edit: Edit,
  { changes, versions }: { readonly changes: PolicyChanges; readonly versions?: Versions },
): Promise<StoredPolicy> {
  requireChange(changes);
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  // Locking all members keeps their keys from being created or expanded until the commit, so that the last statement
  // invalidates every key that can reach the workspace.
  const memberIds = await listMemberIds(workspaceTrx, scope);
  await requireStillActing(workspaceTrx, origin, { others: memberIds, requirement: { scope, permission } });
  const before = await getPolicy(workspaceTrx, scope);
  if (versions && !versions.includes(before.version)) throw new AppError("PRECONDITION_FAILED");
  const policy = applyChanges(before, changes);
  const changed = policyFields.filter((name) => before[name] !== policy[name]);
  if (changed.length === 0) return before;
  if (allowsMoreKeys(before, policy)) requireRecentAuthentication(origin);
  const stored = await putPolicy(workspaceTrx, scope, policy);
  await appendAudit(workspaceTrx, scope, origin, {
    action: "api-key-policy.changed",
    targetId: scope.workspaceId,
    before: pick(before, changed),
    after: pick(policy, changed),
  });
  await bumpOwnerVersions(workspaceTrx, memberIds);
  return stored;
}

function pick(policy: ApiKeyPolicy, names: readonly (keyof ApiKeyPolicy)[]): Details {
  return Object.fromEntries(names.map((name) => [name, policy[name]]));
}

/**
 * Lists the workspaces whose policies would not allow a new key with these settings.
 * @throws {AppError} BAD_REQUEST for an expiry in the past.
 */
export async function findViolatedPolicies(
  db: Db,
  userId: UserId,
  requested: RequestedSettings,
): Promise<ViolatedPolicy[]> {
  return await asUser(db, userId, async (trx) => {
    const settings = { ...defaultSettings, ...(await resolveExpiry(trx, requested)) };
    return await listViolatedPolicies(trx, userId, settings);
  });
}

/** @throws {AppError} NOT_FOUND if the key can't reach the workspace. */
export async function getWorkspaceKey(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyId,
): Promise<WorkspaceKey> {
  const [key] = await findWorkspaceKeys(trx, scope, [id]);
  return key ?? notFound();
}

/** How many keys {@link listEveryWorkspaceKey} keeps in memory at a time. */
const keysPerPage = 100;

/**
 * Lists every key that can reach a workspace, oldest first, for the operator. A key that is created while the list is read
 * may be missing.
 */
export async function* listEveryWorkspaceKey(db: Db, scope: WorkspaceScope): AsyncGenerator<WorkspaceKey> {
  const order = { sort: "createdAt", direction: "asc", limit: keysPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const keys = await inWorkspace(db, scope, (trx) => listWorkspaceKeyPage(trx, scope, { ...order, after }));
    yield* keys;
    const last = keys.length === keysPerPage ? keys.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/**
 * Blocks keys from a workspace, all or none. Once this is committed, every node rejects them there.
 * @throws {AppError} NOT_FOUND if a key can't reach the workspace, and the errors of {@link enterForEdit}.
 */
export async function blockWorkspaceKeys(trx: Trx, edit: Edit, ids: readonly KeyId[]): Promise<void> {
  const { scope, origin } = edit;
  const { workspaceTrx, keys } = await lockWorkspaceKeys(trx, edit, ids);
  const blocked = keys.filter(({ isBlocked }) => !isBlocked).map(({ id }) => id);
  if (blocked.length === 0) return;
  const blockedBy = origin.actor.kind === "command" ? null : origin.actor.userId;
  await blockKeys(workspaceTrx, scope, { ids: blocked, by: blockedBy });
  const events = blocked.map((targetId) => ({ action: "key.blocked", targetId }) as const);
  await appendAuditEvents(workspaceTrx, scope, origin, events);
  await bumpKeyVersions(workspaceTrx, { keyIds: blocked });
}

/**
 * Unblocks keys in a workspace, all or none, and restarts their idle time. Does nothing to a key that is neither blocked nor
 * idle.
 * @throws {AppError} NOT_FOUND if a key can't reach the workspace, and the errors of {@link enterForEdit} and
 *   {@link requireRecentAuthentication}.
 */
export async function unblockWorkspaceKeys(trx: Trx, edit: Edit, ids: readonly KeyId[]): Promise<void> {
  const { scope, origin } = edit;
  requireRecentAuthentication(origin);
  const { workspaceTrx, keys } = await lockWorkspaceKeys(trx, edit, ids);
  const rejected = keys.filter(({ isBlocked, violation }) => isBlocked || violation === "idle");
  if (rejected.length === 0) return;
  const unblocked = rejected.map(({ id }) => id);
  await unblockKeys(workspaceTrx, scope, unblocked);
  const events = rejected.map(({ id, isBlocked }) => {
    const before: Details = isBlocked ? { isBlocked } : { isIdle: true };
    return { action: "key.unblocked", targetId: id, before } as const;
  });
  await appendAuditEvents(workspaceTrx, scope, origin, events);
  await bumpKeyVersions(workspaceTrx, { keyIds: unblocked });
}

async function lockWorkspaceKeys(trx: Trx, edit: Edit, ids: readonly KeyId[]) {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  await requireStillActing(workspaceTrx, origin, { requirement: { scope, permission } });
  const unique = [...new Set(ids)];
  const keys = await findWorkspaceKeys(workspaceTrx, scope, unique);
  if (keys.length < unique.length) notFound();
  return { workspaceTrx, keys };
}

function notFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such API key in this workspace." });
}
