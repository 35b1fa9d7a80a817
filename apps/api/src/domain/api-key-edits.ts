import { createApiKey } from "@latchkey/auth/key-format";
import { listExpanded } from "@latchkey/auth/restrictions";
import { deleteApiKey, insertApiKey, updateApiKey } from "@latchkey/db/api-key-changes";
import { type ApiKey, countApiKeys } from "@latchkey/db/api-keys";
import type { Origin } from "@latchkey/db/audit-actions";
import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings, type KeySettings, pickSettings } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { enterAsUser } from "@latchkey/db/workspace-scope";
import { listOwnWorkspaceIds } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { getKey } from "./api-keys.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { describeCreation, describeEdit, recordKeyEvents, requireKeyChangeQuota } from "./key-events.ts";
import { type RequestedSettings, resolveExpiry } from "./key-expiry.ts";
import { addKeyQuotaNotice } from "./key-quota.ts";
import { type KeyEdit, keyNotFound, lockForEdit } from "./lock-api-key.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";

/**
 * Creates a key for a user. The secret is only in the result; the database has its hash.
 * @throws {AppError} FORBIDDEN if the user is disabled; UNAUTHORIZED if the actor's session has ended; BAD_REQUEST for a
 *   workspace that isn't one of theirs, or an expiry in the past; UNPROCESSABLE_CONTENT at the quota of keys;
 *   TOO_MANY_REQUESTS at that of changes.
 */
export async function createKey(
  trx: Trx,
  key: {
    readonly userId: UserId;
    readonly name: string;
    readonly description: string;
    readonly settings?: RequestedSettings | undefined;
    readonly origin: Origin;
  },
  quotas: Quotas,
): Promise<{ id: KeyId; secret: string }> {
  requireRecentAuthentication(key.origin);
  const { secret, start, hash } = createApiKey();
  // The lock serializes creations of the same user, so that each one counts the keys of the others.
  await requireStillActing(trx, key.origin, { others: [key.userId] });
  const count = await countApiKeys(trx, key.userId, quotas.keysPerUser);
  requireQuota(quotas, "keysPerUser", count);
  await requireKeyChangeQuota(trx, key, quotas);
  const settings = { ...defaultSettings, ...(await resolveExpiry(trx, key.settings ?? {})) };
  await requireOwnWorkspaces(trx, key.userId, settings.workspaceIds ?? []);
  const id = await insertApiKey(trx, { ...key, settings, start, hash });
  if (!id) throw new AppError("FORBIDDEN", { message: "This user is disabled." });
  const edit = { userId: key.userId, id, origin: key.origin };
  await recordKeyEvents(trx, { ...edit, reach: [settings.workspaceIds] }, [
    describeCreation({ ...settings, name: key.name }),
  ]);
  await addKeyQuotaNotice(trx, quotas, { userId: key.userId, count: count + 1 });
  return { id, secret };
}

/** The changes to a key. Fields that are left out keep their value. */
export interface KeyChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly settings?: RequestedSettings | undefined;
  readonly versions?: Versions;
  /** Whether the edit may expand the key's access. */
  readonly mayExpand: boolean;
}

/**
 * Changes a user's key. Once this is committed, every node applies the new restrictions.
 * @throws {AppError} NOT_FOUND if it is deleted or isn't theirs, PRECONDITION_FAILED, UNPROCESSABLE_CONTENT with an
 *   issue for each setting that would expand its access, BAD_REQUEST for a workspace that isn't one of the user's, an
 *   expiry in the past, or an edit without changes; TOO_MANY_REQUESTS, except for disabling alone.
 */
export async function updateKey(
  trx: Trx,
  edit: KeyEdit,
  changes: KeyChanges,
  quotas: Quotas,
): Promise<ApiKey> {
  requireChange({ name: changes.name, description: changes.description, ...changes.settings });
  const key = await lockForEdit(trx, edit);
  const { name, description, versions } = changes;
  const requested = await resolveExpiry(trx, changes.settings ?? {});
  if (isUnchanged(key, { versions, changes: { name, description, ...requested } })) return key;
  const hasNewSettings = Object.keys(requested).length > 0;
  const settings = hasNewSettings ? { ...pickSettings(key), ...requested } : undefined;
  if (settings) requireExpandable(key, settings, { mayExpand: changes.mayExpand, origin: edit.origin });
  const added = settings?.workspaceIds?.filter((id) => !key.workspaceIds?.includes(id)) ?? [];
  await requireOwnWorkspaces(trx, edit.userId, added);
  if (!(await updateApiKey(trx, edit, { name, description, settings, versions }))) {
    throw new AppError("PRECONDITION_FAILED");
  }
  const changed = await getKey(trx, edit);
  const reach = [key.workspaceIds, changed.workspaceIds];
  const events = describeEdit(key, changed);
  if (events.some(({ action }) => action !== "key.disabled")) await requireKeyChangeQuota(trx, edit, quotas);
  await recordKeyEvents(trx, { ...edit, reach }, events);
  if (settings) await bumpKeyVersions(trx, { keyId: edit.id, windowSeconds: settings.limit?.windowSeconds });
  return changed;
}

/**
 * Deletes a user's key. Once this is committed, no node admits it.
 * @throws {AppError} NOT_FOUND if it is already deleted or isn't theirs, PRECONDITION_FAILED at another version.
 */
export async function deleteKey(trx: Trx, edit: KeyEdit): Promise<void> {
  const { name, workspaceIds } = await lockForEdit(trx, edit);
  await recordKeyEvents(trx, { ...edit, reach: [workspaceIds] }, [
    { action: "key.deleted", before: { name } },
  ]);
  if (!(await deleteApiKey(trx, edit))) keyNotFound();
}

/**
 * @throws {AppError} UNPROCESSABLE_CONTENT if the edit expands the key's access and may not, and the errors of
 *   {@link requireRecentAuthentication} if it may.
 */
function requireExpandable(
  before: KeySettings,
  after: KeySettings,
  { mayExpand, origin }: { readonly mayExpand: boolean; readonly origin: Origin },
): void {
  const expanded = listExpanded(before, after);
  if (expanded.length === 0) return;
  if (mayExpand) {
    requireRecentAuthentication(origin);
    return;
  }
  const issues = expanded.map((path) => ({
    path,
    code: "expands_access" as const,
    message: "would expand the key's access",
  }));
  throw new AppError("UNPROCESSABLE_CONTENT", {
    message: "This edit would expand the key's access.",
    issues,
  });
}

/** @throws {AppError} BAD_REQUEST for the first workspace that doesn't exist or that the user isn't a member of. */
async function requireOwnWorkspaces(trx: Trx, userId: UserId, ids: readonly WorkspaceId[]): Promise<void> {
  if (ids.length === 0) return;
  const own = new Set(await listOwnWorkspaceIds(await enterAsUser(trx, userId), userId, ids));
  const index = ids.findIndex((id) => !own.has(id));
  if (index === -1) return;
  const path = `workspaceIds.${index}`;
  const message = "Not one of the user’s workspaces.";
  throw new AppError("BAD_REQUEST", { issues: [{ path, code: "not_found", message }] });
}
