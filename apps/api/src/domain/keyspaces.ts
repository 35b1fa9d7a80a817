import { countActiveKeys } from "@latchkey/db/active-issued-keys";
import type { Details } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { createId, type KeyspaceId } from "@latchkey/db/ids";
import type { Credits } from "@latchkey/db/issued-key-settings";
import { findLastUse, maxExaminedKeys } from "@latchkey/db/keyspace-last-use";
import {
  countKeyspaces,
  deleteKeyspace as deleteRow,
  findKeyspace,
  insertKeyspace,
  type Keyspace,
  type KeyspaceFields,
  listKeyspaces,
  lockKeyspace,
  updateKeyspace,
} from "@latchkey/db/keyspaces";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { describeCredits, listLimits, listNames } from "./issued-key-details.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

const permission = "keyspaces:manage";

/** How many keyspaces {@link listEveryKeyspace} keeps in memory at a time. */
const keyspacesPerPage = 100;

/** Lists every keyspace of a workspace, oldest first. */
export async function* listEveryKeyspace(db: Db, scope: WorkspaceScope): AsyncGenerator<Keyspace> {
  const order = { sort: "createdAt", direction: "asc", limit: keyspacesPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const page = await inWorkspace(db, scope, (trx) => listKeyspaces(trx, scope, { ...order, after }));
    yield* page;
    const last = page.length === keyspacesPerPage ? page.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** @throws {AppError} NOT_FOUND */
export async function getKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
): Promise<Keyspace> {
  return (await findKeyspace(trx, scope, id)) ?? keyspaceNotFound();
}

/**
 * Adds a keyspace to a workspace.
 * @throws {AppError} UNPROCESSABLE_CONTENT at the quota, FORBIDDEN.
 */
export async function createKeyspace(
  trx: Trx,
  edit: Edit,
  fields: KeyspaceFields,
  quotas: Quotas,
): Promise<Keyspace> {
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  // The lock on the workspace prevents concurrent additions between the count and the insert.
  const quota = "keyspacesPerWorkspace";
  const count = await countKeyspaces(workspaceTrx, scope);
  requireQuota(quotas, quota, count);
  const keyspace = await insertKeyspace(workspaceTrx, scope, { ...fields, id: createId("keyspace") });
  await appendAudit(workspaceTrx, scope, origin, {
    action: "keyspace.created",
    targetId: keyspace.id,
    after: toDetails(keyspace),
  });
  await addWorkspaceQuotaNotice(workspaceTrx, scope, quotas, { quota, count: count + 1 });
  return keyspace;
}

/** What a caller changes on a keyspace. Absent fields stay, and so does an absent refill of the default credits. */
export type KeyspaceEdit = Partial<Omit<KeyspaceFields, "defaultCredits">> & {
  /** Null for keys without credits. */
  readonly defaultCredits?: (Pick<Credits, "remaining"> & Partial<Credits>) | null;
  readonly isDisabled?: boolean | undefined;
};

/**
 * Changes a keyspace. Once it is committed that the keyspace is disabled, every node rejects its keys.
 * @throws {AppError} BAD_REQUEST without a field, NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN.
 */
export async function changeKeyspace(
  trx: Trx,
  edit: Edit,
  id: KeyspaceId,
  { versions, isDisabled, defaultCredits, ...others }: KeyspaceEdit & { readonly versions: Versions },
): Promise<Keyspace> {
  requireChange({ ...others, defaultCredits, isDisabled });
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const before = (await lockKeyspace(workspaceTrx, scope, id)) ?? keyspaceNotFound();
  const credits = defaultCredits && { refill: before.defaultCredits?.refill ?? null, ...defaultCredits };
  const fields = { ...others, ...(credits !== undefined && { defaultCredits: credits }) };
  const row = { ...before, isDisabled: before.disabledAt !== null };
  if (isUnchanged(row, { versions, changes: { ...fields, isDisabled } })) return before;
  const after = await updateKeyspace(workspaceTrx, scope, id, { fields, isDisabled, versions });
  if (!after) throw new AppError("PRECONDITION_FAILED");
  const { name } = after;
  const changed = listChanged(before, after);
  if (changed.length > 0) {
    await appendAudit(workspaceTrx, scope, origin, {
      action: "keyspace.changed",
      targetId: id,
      before: pick(toDetails(before), changed),
      after: { name, ...pick(toDetails(after), changed) },
    });
  }
  if ((before.disabledAt === null) !== (after.disabledAt === null)) {
    const action = after.disabledAt ? "keyspace.disabled" : "keyspace.enabled";
    await appendAudit(workspaceTrx, scope, origin, { action, targetId: id, after: { name } });
    await bumpOwnerVersions(workspaceTrx, [id]);
  }
  return after;
}

/**
 * Deletes a keyspace. Once this is committed, every node rejects its keys.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export async function deleteKeyspace(
  trx: Trx,
  edit: Edit,
  id: KeyspaceId,
  versions: Versions,
): Promise<void> {
  requireRecentAuthentication(edit.origin);
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const { name, prefix, keyCount } = (await lockKeyspace(workspaceTrx, scope, id)) ?? keyspaceNotFound();
  if (!(await deleteRow(workspaceTrx, scope, id, versions))) throw new AppError("PRECONDITION_FAILED");
  await appendAudit(workspaceTrx, scope, origin, {
    action: "keyspace.deleted",
    targetId: id,
    before: { name, prefix, keys: keyCount },
  });
}

/** The keys that stop working if a keyspace is deleted or disabled. */
export interface KeyspaceImpact {
  readonly keyCount: number;
  /** Of the newest keys, whether or not the keyspace is disabled. See `countActiveKeys`. */
  readonly activeKeyCount: number;
  /** Whether there are more keys, whose status was not examined. */
  readonly isActiveKeyCountPartial: boolean;
  /** When a key was last used; null for never. See `findLastUse`. */
  readonly lastUsedAt: Date | null;
  /** Whether a key that was not examined can have been used later. See `findLastUse`. */
  readonly isPartial: boolean;
}

/** @throws {AppError} NOT_FOUND */
export async function getKeyspaceImpact(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
): Promise<KeyspaceImpact> {
  const { keyCount } = await getKeyspace(trx, scope, id);
  const activeKeyCount = await countActiveKeys(trx, scope, id);
  const isActiveKeyCountPartial = keyCount > maxExaminedKeys;
  const { at: lastUsedAt, isPartial } = await findLastUse(trx, scope, { id, keyCount });
  return { keyCount, activeKeyCount, isActiveKeyCountPartial, lastUsedAt, isPartial };
}

function toDetails(keyspace: KeyspaceFields): Details {
  return {
    name: keyspace.name,
    prefix: keyspace.prefix,
    environment: keyspace.environment,
    defaultLifetimeDays: keyspace.defaultLifetimeDays,
    defaultPermissions: listNames(keyspace.defaultPermissions),
    defaultLimits: listLimits(keyspace.defaultLimits),
    defaultCredits: describeCredits(keyspace.defaultCredits),
  };
}

/** The names of the values that differ. Their texts in events can be equal although omitted items differ. */
function listChanged(before: KeyspaceFields, after: KeyspaceFields): readonly string[] {
  const textOf = (fields: KeyspaceFields, name: string) =>
    JSON.stringify((fields as unknown as Record<string, unknown>)[name]); // The names are those of the fields.
  return Object.keys(toDetails(after)).filter((name) => textOf(before, name) !== textOf(after, name));
}

function pick(details: Details, names: readonly string[]): Details {
  return Object.fromEntries(names.map((name) => [name, details[name] ?? null]));
}

export function keyspaceNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such keyspace." });
}
