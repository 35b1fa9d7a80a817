import { createIssuedKey as createSecret } from "@latchkey/auth/key-format";
import { appendAudit } from "@latchkey/db/audit-events";
import { countConsumerKeys, countConsumers, findOrCreateConsumer } from "@latchkey/db/consumers";
import type { ConsumerId, KeyspaceId } from "@latchkey/db/ids";
import {
  deleteIssuedKeys,
  finishKeyChange,
  insertIssuedKey,
  lockIssuedKeyCounter,
  markConsumersUnused,
  updateIssuedKey,
} from "@latchkey/db/issued-key-changes";
import { settleRefill } from "@latchkey/db/issued-key-credits";
import type { Credits, IssuedKeySettings } from "@latchkey/db/issued-key-settings";
import { countIssuedKeys, findIssuedKey, type IssuedKey, type IssuedKeyPath } from "@latchkey/db/issued-keys";
import type { Keyspace } from "@latchkey/db/keyspaces";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { issuedKeyLimits } from "@latchkey/limits";
import type { Edit } from "./enter-for-edit.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { describeIssuedEdit, describeIssuedKey } from "./issued-key-details.ts";
import { enterKeyspace, issuedKeyNotFound, lockIssuedKeyAtVersion } from "./issued-key-edits.ts";
import { consumeIssuedSecretQuota } from "./issued-secret-quota.ts";
import { type Expiry, resolveExpiryTime } from "./key-expiry.ts";
import { getKeyspace } from "./keyspaces.ts";
import { type Quotas, requireConsumerQuota, requireKeysPerConsumer, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** An issued key and its secret, which only the result of a creation or rotation has. */
export interface IssuedKeyWithSecret {
  readonly issuedKey: IssuedKey;
  readonly secret: string;
}

/** What a caller sets on a key. Absent settings of a new key are those of its keyspace. */
export type IssuedKeyRequest = Partial<Omit<IssuedKeySettings, "refill" | "expiresAt">> & {
  readonly expiresAt?: Expiry;
  /** Null for no credits. */
  readonly credits?: Credits | null;
  /** The consumer that the key belongs to; null for none. */
  readonly externalId?: string | null;
};

/** What a caller changes on a key. Absent settings stay, and so do those of its credits. */
export type IssuedKeyEdit = Omit<IssuedKeyRequest, "credits"> & {
  /** Null for no credits. */
  readonly credits?: Partial<Credits> | null;
};

/** @throws {AppError} NOT_FOUND */
export async function getIssuedKey(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  path: IssuedKeyPath,
): Promise<IssuedKey> {
  await getKeyspace(trx, scope, path.keyspaceId);
  return (await findIssuedKey(trx, scope, path)) ?? issuedKeyNotFound();
}

/**
 * Issues a key. The secret is only in the result; the database has its hash.
 * @throws {AppError} NOT_FOUND, FORBIDDEN; BAD_REQUEST for an expiry in the past; UNPROCESSABLE_CONTENT at the quota of keys or
 *   consumers; TOO_MANY_REQUESTS at the hourly quota of secrets.
 */
export async function createIssuedKey(
  trx: Trx,
  edit: Edit,
  { keyspaceId, ...request }: IssuedKeyRequest & { readonly keyspaceId: KeyspaceId },
  quotas: Quotas,
): Promise<IssuedKeyWithSecret> {
  requireRecentAuthentication(edit.origin);
  const { scope, origin } = edit;
  const { workspaceTrx, keyspace } = await enterKeyspace(trx, edit, keyspaceId);
  // The lock on the workspace prevents concurrent additions between the counts and the insert.
  const quota = "issuedKeysPerWorkspace";
  const count = await countIssuedKeys(workspaceTrx, scope);
  requireQuota(quotas, quota, count);
  await consumeIssuedSecretQuota(trx, origin, { count: 1, quotas });
  const expiresAt = await resolveExpiryTime(trx, chooseExpiry(keyspace, request));
  const { settings, remainingCredits } = chooseSettings(keyspace, { ...request, expiresAt });
  const { externalId = null } = request;
  const consumerId = await resolveConsumer(workspaceTrx, scope, { keyspaceId, externalId, quotas });
  const { secret, start, hash } = createSecret(keyspace.prefix);
  const key = { keyspaceId, consumerId, start, hash, settings, remainingCredits };
  const id = await insertIssuedKey(workspaceTrx, scope, key);
  await appendAudit(workspaceTrx, scope, origin, {
    action: "issued-key.created",
    targetId: id,
    after: {
      start,
      ...describeIssuedKey({ ...settings, externalId, remainingCredits }),
      isDisabled: settings.isDisabled,
    },
  });
  await addWorkspaceQuotaNotice(workspaceTrx, scope, quotas, { quota, count: count + 1 });
  return { issuedKey: await getIssuedKey(workspaceTrx, scope, { keyspaceId, id }), secret };
}

/** The expiry of a new key: as requested, or by the default of its keyspace. */
export function chooseExpiry(
  { defaultLifetimeDays }: Keyspace,
  { expiresAt }: Pick<IssuedKeyRequest, "expiresAt">,
): Expiry {
  if (expiresAt !== undefined) return expiresAt;
  return defaultLifetimeDays === null ? null : { inSeconds: defaultLifetimeDays * 86_400 };
}

/** The settings of a new key, with the defaults of its keyspace. */
export function chooseSettings(
  keyspace: Keyspace,
  { expiresAt, ...request }: IssuedKeyRequest & { readonly expiresAt: Date | null },
): { readonly settings: IssuedKeySettings; readonly remainingCredits: number | null } {
  const credits = request.credits === undefined ? keyspace.defaultCredits : request.credits;
  const settings = {
    name: request.name ?? "",
    meta: request.meta ?? {},
    permissions: request.permissions ?? keyspace.defaultPermissions,
    limits: request.limits ?? keyspace.defaultLimits,
    refill: credits?.refill ?? null,
    expiresAt,
    isDisabled: request.isDisabled ?? false,
    ipRanges: request.ipRanges ?? null,
  };
  return { settings, remainingCredits: credits?.remaining ?? null };
}

/**
 * Finds or creates the consumer that a key will belong to; null for none.
 * @throws {AppError} UNPROCESSABLE_CONTENT if the consumer has the most keys that it can have, or at the quota of consumers.
 */
async function resolveConsumer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    keyspaceId,
    externalId,
    quotas,
  }: {
    readonly keyspaceId: KeyspaceId;
    readonly externalId: string | null;
    readonly quotas: Quotas;
  },
): Promise<ConsumerId | null> {
  if (externalId === null) return null;
  const count = await countConsumers(trx, scope);
  const id = await findOrCreateConsumer(trx, scope, { keyspaceId, externalId });
  // At the quota, keys can still be added to consumers that exist.
  const newCount = await countConsumers(trx, scope);
  if (newCount > count) requireConsumerQuota(quotas, newCount);
  requireKeysPerConsumer(await countConsumerKeys(trx, scope, id, issuedKeyLimits.maxKeysPerConsumer));
  return id;
}

/**
 * Changes a key. Once this is committed, every node applies the new settings.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN; BAD_REQUEST for an expiry in the past, or an edit without
 *   changes; UNPROCESSABLE_CONTENT if the new consumer has the most keys that it can have, at the quota of consumers, or for a
 *   refill of a key without credits; TOO_MANY_REQUESTS if it enables the key, at the hourly quota of secrets.
 */
export async function changeIssuedKey(
  trx: Trx,
  edit: Edit,
  path: IssuedKeyPath,
  { versions, credits, externalId, expiresAt, ...request }: IssuedKeyEdit & { readonly versions: Versions },
  quotas: Quotas,
): Promise<IssuedKey> {
  requireChange({ ...request, credits, externalId, expiresAt });
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, path.keyspaceId);
  const before = await lockIssuedKeyAtVersion(workspaceTrx, scope, { ...path, versions });
  if (credits && credits.remaining === undefined) requireBalance(before);
  const { keyspaceId, id } = path;
  const settings = {
    ...request,
    ...(expiresAt === undefined ? {} : { expiresAt: await resolveExpiryTime(trx, expiresAt) }),
    ...(credits?.refill === undefined && credits !== null ? {} : { refill: credits?.refill ?? null }),
  };
  const remainingCredits = credits === null ? null : credits?.remaining;
  // Setting a balance restarts its refill, even if the key has this balance.
  const changes = { ...settings, externalId, ...(remainingCredits === null && { remainingCredits }) };
  const setsBalance = typeof remainingCredits === "number";
  if (!setsBalance && isUnchanged(before, { versions, changes })) return before;
  if (before.isDisabled && request.isDisabled === false)
    await consumeIssuedSecretQuota(trx, origin, { count: 1, quotas });
  const hasOtherConsumer = externalId !== undefined && externalId !== before.externalId;
  // First, because the purge locks consumers before the number of consumers, which a new one changes.
  if (hasOtherConsumer) await markConsumersUnused(workspaceTrx, [id]);
  const consumerId = !hasOtherConsumer
    ? undefined
    : await resolveConsumer(workspaceTrx, scope, { keyspaceId, externalId, quotas });
  const keepsBalance = remainingCredits === undefined;
  // Admission waits for the counter, but the event needs the exact balance. Read before the refill, which it depends on, changes.
  if (!keepsBalance) await lockIssuedKeyCounter(workspaceTrx, id);
  const { remainingCredits: formerBalance } = keepsBalance
    ? before
    : await getIssuedKey(workspaceTrx, scope, path);
  await updateIssuedKey(workspaceTrx, scope, id, { settings, consumerId, versions });
  const stored = await getIssuedKey(workspaceTrx, scope, path);
  // Uses can have changed a balance that stays.
  const after = { ...stored, remainingCredits: keepsBalance ? formerBalance : remainingCredits };
  const { name, start } = after;
  const target = { targetId: id } as const;
  const change = describeIssuedEdit({ ...before, remainingCredits: formerBalance }, after);
  if (change) {
    const values = { before: change.before, after: { name, start, ...change.after } };
    await appendAudit(workspaceTrx, scope, origin, { ...target, ...values, action: "issued-key.changed" });
  }
  if (before.isDisabled !== after.isDisabled) {
    const action = after.isDisabled ? "issued-key.disabled" : "issued-key.enabled";
    await appendAudit(workspaceTrx, scope, origin, { ...target, action, after: { name, start } });
  }
  if (keepsBalance && settings.refill !== undefined) await settleRefill(workspaceTrx, id, before.refill);
  await finishKeyChange(workspaceTrx, id, { limits: settings.limits, remainingCredits });
  // Read again, because the status depends on the balance.
  return await getIssuedKey(workspaceTrx, scope, path);
}

/** @throws {AppError} UNPROCESSABLE_CONTENT for a key without credits. */
function requireBalance({ remainingCredits }: IssuedKey): void {
  if (remainingCredits !== null) return;
  const message = "The key has no credits. Send `remaining` too.";
  const issue = { path: "credits.remaining", code: "required", message } as const;
  throw new AppError("UNPROCESSABLE_CONTENT", { message, issues: [issue] });
}

/**
 * Deletes a key. Once this is committed, no node accepts it.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export async function deleteIssuedKey(
  trx: Trx,
  edit: Edit,
  path: IssuedKeyPath,
  versions: Versions,
): Promise<void> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, path.keyspaceId);
  const { name, start, externalId } = await lockIssuedKeyAtVersion(workspaceTrx, scope, {
    ...path,
    versions,
  });
  await appendAudit(workspaceTrx, scope, origin, {
    action: "issued-key.deleted",
    targetId: path.id,
    before: { name, start, externalId },
  });
  await deleteIssuedKeys(workspaceTrx, scope, [path.id]);
}
