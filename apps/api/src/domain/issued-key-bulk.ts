import { appendAuditEvents } from "@latchkey/db/audit-events";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import {
  type ChosenKeys,
  type LockedKey,
  lockIssuedKeys,
  readIssuedSettings,
  updateIssuedKeys,
} from "@latchkey/db/issued-key-bulk";
import { deleteIssuedKeys } from "@latchkey/db/issued-key-changes";
import type { IssuedKeySettings } from "@latchkey/db/issued-key-settings";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import type { Trx } from "@latchkey/db/schema";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { describeIssuedEdit } from "./issued-key-details.ts";
import { enterKeyspace } from "./issued-key-edits.ts";
import { consumeIssuedSecretQuota } from "./issued-secret-quota.ts";
import { type Expiry, resolveExpiryTime } from "./key-expiry.ts";
import type { Quotas } from "./quotas.ts";

export const bulkActions = ["change", "enable", "disable", "delete"] as const;

/** The settings that a change of several keys can set: all that keys can have in common, except `isDisabled`, which has actions. */
export type BulkSettings = Partial<
  Omit<IssuedKeySettings, "name" | "refill" | "isDisabled" | "expiresAt">
> & {
  readonly expiresAt?: Expiry;
};

/** The most permissions that a change of several keys can write: one row each, within the time of a change. */
export const maxWrittenPermissions = 20_000;

/** What to do with several keys. */
export type BulkRequest =
  | { readonly action: "enable" | "disable" | "delete" }
  | { readonly action: "change"; readonly changes: BulkSettings };

/** What a change of several keys did to each of them. */
export interface BulkResult {
  readonly changed: readonly IssuedKeyId[];
  /** Keys that already were as requested. */
  readonly unchanged: readonly IssuedKeyId[];
  /** IDs that no key of the keyspace has. */
  readonly notFound: readonly IssuedKeyId[];
}

/**
 * Changes, enables, disables or deletes several keys in one transaction. Once this is committed, every node applies it. Each
 * changed key gets an event. A consumer has at most 1,000 keys, so all of its keys are changed.
 * @throws {AppError} NOT_FOUND, FORBIDDEN; BAD_REQUEST for an expiry in the past, and for too many permissions;
 *   TOO_MANY_REQUESTS if it enables keys, at the hourly quota of secrets.
 */
export async function changeIssuedKeys(
  trx: Trx,
  edit: Edit,
  {
    keyspaceId,
    chosen,
    quotas,
    ...request
  }: BulkRequest & {
    readonly keyspaceId: KeyspaceId;
    readonly chosen: ChosenKeys;
    readonly quotas: Quotas;
  },
): Promise<BulkResult> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, keyspaceId);
  const keys = await lockIssuedKeys(workspaceTrx, scope, keyspaceId, chosen);
  if (request.action === "change") requireFewPermissions(keys.length, request.changes);
  const settings =
    request.action === "change"
      ? await resolveSettings(trx, request.changes)
      : { isDisabled: request.action === "disable" };
  const events =
    request.action === "change"
      ? await describeEdits(workspaceTrx, scope, { ids: keys.map(({ id }) => id), settings })
      : describeStates(keys, request.action);
  const changed = events.map(({ targetId }) => targetId);
  if (changed.length > 0) {
    if (request.action === "enable")
      await consumeIssuedSecretQuota(trx, origin, { count: changed.length, quotas });
    await appendAuditEvents(workspaceTrx, scope, origin, events);
    // The counters of the keys come last, because admission waits for them.
    if (request.action === "delete") await deleteIssuedKeys(workspaceTrx, scope, changed);
    else {
      await updateIssuedKeys(workspaceTrx, scope, changed, settings);
      await bumpKeyVersions(workspaceTrx, { keyIds: changed, limits: settings.limits });
    }
  }
  const isChanged = new Set(changed);
  return {
    changed,
    unchanged: keys.flatMap(({ id }) => (isChanged.has(id) ? [] : [id])),
    notFound: listMissingIds(chosen, keys),
  };
}

/** The IDs of chosen keys that don't exist. */
export function listMissingIds(chosen: ChosenKeys, keys: readonly LockedKey[]): readonly IssuedKeyId[] {
  const found = new Set(keys.map(({ id }) => id));
  return "ids" in chosen ? [...new Set(chosen.ids)].filter((id) => !found.has(id)) : [];
}

/** @throws {AppError} BAD_REQUEST for an expiry in the past. */
async function resolveSettings(
  trx: Trx,
  { expiresAt, ...settings }: BulkSettings,
): Promise<Partial<IssuedKeySettings>> {
  if (expiresAt === undefined) return settings;
  return { ...settings, expiresAt: await resolveExpiryTime(trx, expiresAt, "changes.expiresAt") };
}

/** How many keys are compared at a time. Each can have several kilobytes of data of its own. */
const comparedKeys = 100;

/** The events of keys that don't have these settings yet. */
async function describeEdits(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { ids, settings }: { readonly ids: readonly IssuedKeyId[]; readonly settings: Partial<IssuedKeySettings> },
) {
  const events = [];
  for (let start = 0; start < ids.length; start += comparedKeys) {
    const keys = await readIssuedSettings(trx, scope, ids.slice(start, start + comparedKeys));
    for (const key of keys) {
      // The balance and the refill stay.
      const before = { ...key, refill: null, remainingCredits: null };
      const change = describeIssuedEdit(before, { ...before, ...settings });
      if (!change) continue;
      const after = { name: key.name, start: key.start, ...change.after };
      events.push({ action: "issued-key.changed", targetId: key.id, before: change.before, after } as const);
    }
  }
  return events;
}

const stateActions = {
  enable: "issued-key.enabled",
  disable: "issued-key.disabled",
  delete: "issued-key.deleted",
} as const;

/** The events of keys that are deleted, or not yet enabled or disabled, with the same values as for a change of one key. */
function describeStates(keys: readonly LockedKey[], request: Exclude<BulkRequest["action"], "change">) {
  return keys
    .filter(({ isDisabled }) => request === "delete" || isDisabled === (request === "enable"))
    .map(({ id: targetId, name, start, externalId }) => ({
      action: stateActions[request],
      targetId,
      ...(request === "delete" ? { before: { name, start, externalId } } : { after: { name, start } }),
    }));
}

/** @throws {AppError} BAD_REQUEST */
function requireFewPermissions(keyCount: number, { permissions = [] }: BulkSettings): void {
  if (keyCount * permissions.length <= maxWrittenPermissions) return;
  const message = `The number of keys times the number of permissions can be at most ${maxWrittenPermissions}. Send fewer permissions, or fewer keys as keyIds.`;
  throw new AppError("BAD_REQUEST", {
    message: "The change is too large",
    issues: [{ path: "changes.permissions", code: "too_large", message }],
  });
}
