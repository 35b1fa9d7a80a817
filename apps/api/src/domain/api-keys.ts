import { createApiKey } from "@latchkey/auth/key-format";
import { listExpanded } from "@latchkey/auth/restrictions";
import type { Principal } from "@latchkey/auth/verdict";
import {
  deleteApiKey,
  endOverlap,
  insertApiKey,
  lockApiKey,
  replaceUnusedSecret,
  rotateApiKey,
  updateApiKey,
} from "@latchkey/db/api-key-changes";
import { findRateLimitedKeys, type OwnKeyQuery } from "@latchkey/db/api-key-search";
import {
  type ApiKey,
  type ApiKeyWithOwner,
  countApiKeys,
  findApiKey,
  findApiKeyOwnerId,
  listApiKeyPage,
  listApiKeys,
  listInstanceApiKeys,
} from "@latchkey/db/api-keys";
import type { Origin } from "@latchkey/db/audit-actions";
import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings, type KeySettings, pickSettings } from "@latchkey/db/key-settings";
import type { Position } from "@latchkey/db/page";
import { withSavepoint } from "@latchkey/db/savepoint";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { asUser, enterAsUser } from "@latchkey/db/workspace-scope";
import { listOwnWorkspaceIds } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { describeCreation, describeEdit, recordKeyEvents, requireKeyChangeQuota } from "./key-events.ts";
import { type RequestedSettings, resolveExpiry } from "./key-expiry.ts";
import { addKeyQuotaNotice } from "./key-quota.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { type ActingKey, requireStillActing } from "./workspaces.ts";

/** The key to change, its owner, and the origin of the change. */
export interface KeyEdit {
  readonly userId: UserId;
  readonly id: KeyId;
  readonly origin: Origin;
  /** The versions of the key that `If-Match` allows. */
  readonly versions?: Versions;
}

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

/** Returns one of a user's keys. @throws {AppError} NOT_FOUND if it is deleted or isn't theirs. */
export async function getKey(db: Db, key: { readonly userId: UserId; readonly id: KeyId }): Promise<ApiKey> {
  return (await findApiKey(db, key)) ?? notFound();
}

/** A key, as the web app shows it. */
export interface ListedKey extends ApiKey {
  /** Whether a request was rate limited in this clock hour or the one before. */
  readonly isRateLimited: boolean;
}

/** Adds to a key of a user whether it is rate limited. */
export async function toListedKey(db: Db, userId: UserId, key: ApiKey): Promise<ListedKey> {
  const limited = await asUser(db, userId, (trx) => findRateLimitedKeys(trx, [key.id]));
  return { ...key, isRateLimited: limited.has(key.id) };
}

/** Returns a page of a user's keys, newest first by default. `page` starts at 1. */
export async function listKeys(
  db: Db,
  userId: UserId,
  { page, pageSize, ...query }: Omit<OwnKeyQuery, "offset" | "limit"> & { page: number; pageSize: number },
): Promise<{ items: ListedKey[]; total: number }> {
  return await asUser(db, userId, async (trx) => {
    const cut = { offset: (page - 1) * pageSize, limit: pageSize };
    const { items, total } = await listApiKeys(trx, userId, { ...query, ...cut });
    const limited = await findRateLimitedKeys(
      trx,
      items.map(({ id }) => id),
    );
    return { items: items.map((key) => ({ ...key, isRateLimited: limited.has(key.id) })), total };
  });
}

/** How many keys the lists for the operator keep in memory at a time. */
const keysPerPage = 100;

/**
 * Lists every key of a user, oldest first, for the operator. A key that is created while the list is read may be
 * missing.
 */
export async function* listOwnedKeys(db: Db, userId: UserId): AsyncGenerator<ApiKeyWithOwner> {
  const order = { sort: "createdAt", direction: "asc", limit: keysPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    const keys = await listApiKeyPage(db, userId, { ...order, after });
    for (const { position: _position, ...key } of keys) yield { ...key, userId };
    const last = keys.length === keysPerPage ? keys.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** Lists every key of the instance by ID, for the operator, like {@link listOwnedKeys}. */
export async function* listInstanceKeys(db: Db): AsyncGenerator<ApiKeyWithOwner> {
  let after: KeyId | undefined;
  do {
    const keys = await listInstanceApiKeys(db, { after, limit: keysPerPage });
    yield* keys;
    after = keys.length === keysPerPage ? keys.at(-1)?.id : undefined;
  } while (after);
}

/**
 * Checks that a key may read another: an unrestricted key may read all keys of its owner, and a restricted key only
 * itself.
 * @throws {AppError} FORBIDDEN, both if the key doesn't exist and if it belongs to another user.
 */
export async function requireReadableKey(db: Db, principal: Principal, id: KeyId): Promise<void> {
  if (principal.isRestricted && principal.keyId !== id) throw new AppError("FORBIDDEN");
  if ((await findApiKeyOwnerId(db, id)) !== principal.userId) throw new AppError("FORBIDDEN");
}

/**
 * Checks that a key may change another. It may change the keys that it may read, unless the request used an old
 * secret: a client that only has an old secret must not be able to lock out the clients that have the current one.
 * @param isOwnRetry whether the request is a retry of a completed request that used the same secret. An old secret
 *   may only retry requests about its own key (docs/decisions/0026).
 * @throws {AppError} FORBIDDEN
 */
export async function requireManageable(
  trx: Trx,
  principal: Principal,
  { id, isOwnRetry = false }: { readonly id: KeyId; readonly isOwnRetry?: boolean },
): Promise<void> {
  if (principal.isByFormerSecret && !(isOwnRetry && principal.keyId === id)) throw new AppError("FORBIDDEN");
  await requireReadableKey(trx, principal, id);
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
 * Gives a key a new secret, which is only in the result. The old secret stays valid for the overlap.
 * @throws {AppError} NOT_FOUND if it is deleted or isn't theirs, PRECONDITION_FAILED at another version,
 *   TOO_MANY_REQUESTS.
 */
export async function rotateKey(
  trx: Trx,
  edit: KeyEdit,
  overlapSeconds: number,
  quotas: Quotas,
): Promise<{ id: KeyId; secret: string }> {
  requireRecentAuthentication(edit.origin);
  const { workspaceIds } = await lockForEdit(trx, edit);
  await requireKeyChangeQuota(trx, edit, quotas);
  const { secret, start, hash } = createApiKey();
  await rotateApiKey(trx, edit.id, { start, hash, overlapSeconds });
  await recordKeyEvents(trx, { ...edit, reach: [workspaceIds] }, [
    { action: "key.rotated", after: { overlapSeconds } },
  ]);
  await bumpKeyVersions(trx, { keyId: edit.id, hasNewSecret: true });
  return { id: edit.id, secret };
}

/**
 * Replaces the secret that the creation or a rotation of a key issued, for a repeated request. Returns undefined if a
 * request was admitted with that secret, or it is no longer the key's current one. The overlap of old secrets
 * doesn't change.
 * @param issued.hash SHA-256 of the secret to replace.
 * @throws {AppError} FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function reissueSecret(
  trx: Trx,
  edit: KeyEdit,
  issued: { readonly hash: Buffer; readonly isOwnRetry: boolean },
  quotas: Quotas,
): Promise<string | undefined> {
  const acting = await requireStillActing(trx, edit.origin);
  if (!(issued.isOwnRetry && acting?.keyId === edit.id)) requireStillManageable(acting, edit.id);
  const key = await lockApiKey(trx, edit);
  if (!key) return undefined;
  await requireKeyChangeQuota(trx, edit, quotas);
  const { secret, start, hash } = createApiKey();
  const replaced = { id: edit.id, issuedHash: issued.hash };
  return await withSavepoint(trx, async () => {
    await recordKeyEvents(trx, { ...edit, reach: [key.workspaceIds] }, [{ action: "key.secret-reissued" }]);
    // Runs last, because admission waits for the row that it locks.
    return (await replaceUnusedSecret(trx, replaced, { start, hash })) ? secret : undefined;
  });
}

/** Ends the overlap of a key's old secrets. @throws {AppError} NOT_FOUND if it is deleted or isn't theirs. */
export async function endKeyOverlap(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  await revokeFormerSecrets(trx, edit, await lockForEdit(trx, edit));
  return await getKey(trx, edit);
}

async function revokeFormerSecrets(trx: Trx, edit: KeyEdit, key: ApiKey): Promise<void> {
  await endOverlap(trx, edit.id);
  if (key.formerSecrets.length > 0) {
    const event = { action: "key.former-secrets-revoked" } as const;
    await recordKeyEvents(trx, { ...edit, reach: [key.workspaceIds] }, [event]);
  }
  await bumpKeyVersions(trx, { keyId: edit.id });
}

/**
 * Revokes the credential of a request: deletes its key, or if the request used an old secret, revokes all former
 * secrets.
 * @throws {AppError} NOT_FOUND if the key is already deleted, PRECONDITION_FAILED at another version.
 */
export async function revokePresented(trx: Trx, edit: KeyEdit, principal: Principal): Promise<void> {
  if (!principal.isByFormerSecret) return await deleteKey(trx, edit);
  await requireStillActing(trx, edit.origin);
  await revokeFormerSecrets(trx, edit, await lockAtVersion(trx, edit));
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
  if (!(await deleteApiKey(trx, edit))) notFound();
}

/** Returns the owner of a key, for the operator. @throws {AppError} NOT_FOUND */
export async function getKeyOwnerId(db: Db, id: KeyId): Promise<UserId> {
  return (await findApiKeyOwnerId(db, id)) ?? notFound();
}

/**
 * Locks the key and its owner. Without the lock of the owner, a change of the owner's role, or of the policy of a workspace,
 * could miss a key that is given access to the workspace concurrently, and nodes would remember the former role or policy.
 */
async function lockForEdit(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  requireStillManageable(await requireStillActing(trx, edit.origin, { others: [edit.userId] }), edit.id);
  return await lockAtVersion(trx, edit);
}

/** @throws {AppError} NOT_FOUND, PRECONDITION_FAILED */
async function lockAtVersion(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  const key = (await lockApiKey(trx, edit)) ?? notFound();
  // The version of a locked key can't change.
  if (edit.versions && !edit.versions.includes(key.version)) throw new AppError("PRECONDITION_FAILED");
  return key;
}

/**
 * Checks the acting key again: since admission, it may have been restricted or rotated.
 * @throws {AppError} FORBIDDEN
 */
function requireStillManageable(acting: ActingKey | undefined, id: KeyId): void {
  if (!acting) return;
  if (acting.isByFormerSecret || (acting.isRestricted && acting.keyId !== id))
    throw new AppError("FORBIDDEN");
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

function notFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such API key." });
}
