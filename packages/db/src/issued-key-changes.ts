import { type RawBuilder, sql } from "kysely";
import { type ConsumerId, createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { type IssuedKeySettings, type NamedLimit, toIssuedColumns } from "./issued-key-settings.ts";
import { areUsesLocked } from "./issued-key-uses.ts";
import { findIssuedKey, type IssuedKey, type IssuedKeyPath } from "./issued-keys.ts";
import { windowsOf } from "./key-counters.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

export interface NewIssuedKey {
  readonly keyspaceId: KeyspaceId;
  readonly consumerId: ConsumerId | null;
  readonly start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  readonly hash: Buffer;
  readonly settings: IssuedKeySettings;
  /** The balance of credits; null for none. */
  readonly remainingCredits: number | null;
}

/** Stores a new key, and its counter, which marks the secret as unused. Lock the keyspace against deletion first. */
export async function insertIssuedKey(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  key: NewIssuedKey,
): Promise<IssuedKeyId> {
  const id = createId("issuedKey");
  await sql`insert into key_counters (key_id, has_unused_secret, credits, credits_refilled_at)
    values (${id}, true, ${key.remainingCredits}::bigint, ${clockIf(key.remainingCredits !== null)})`.execute(
    trx,
  );
  // Last, because a trigger updates the number of keys of the keyspace, for which concurrent inserts wait.
  await trx
    .insertInto("issued_keys")
    .values({
      ...toIssuedColumns({ ...key.settings, isDisabled: false }),
      ...(key.settings.isDisabled ? { disabled_at: sql<Date>`clock_timestamp()` } : {}),
      id,
      workspace_id: workspaceId,
      keyspace_id: key.keyspaceId,
      consumer_id: key.consumerId,
      start: key.start,
      hash: key.hash,
    })
    .execute();
  return id;
}

function clockIf(condition: boolean): RawBuilder<unknown> {
  return condition ? sql`clock_timestamp()` : sql`null::timestamptz`;
}

/** Locks a key against other changes until the transaction ends. Returns undefined if it doesn't exist. */
export async function lockIssuedKey(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  path: IssuedKeyPath,
): Promise<IssuedKey | undefined> {
  const locked = await trx
    .selectFrom("issued_keys")
    .select("id")
    .where("workspace_id", "=", scope.workspaceId)
    .where("keyspace_id", "=", path.keyspaceId)
    .where("id", "=", path.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return locked && (await findIssuedKey(trx, scope, path));
}

/** Locks the counter of a key, so that its balance stays until the transaction ends. Lock the key first. */
export async function lockIssuedKeyCounter(trx: WorkspaceTrx, id: IssuedKeyId): Promise<void> {
  await sql`select from key_counters where key_id = ${id} for no key update`.execute(trx);
}

/**
 * Changes a key. Returns false if it doesn't exist or is at none of `versions`. Call {@link markConsumersUnused} before, if the
 * consumer changes, and {@link finishKeyChange} last in the transaction.
 */
export async function updateIssuedKey(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  id: IssuedKeyId,
  {
    settings,
    consumerId,
    versions,
  }: {
    readonly settings: Partial<IssuedKeySettings>;
    /** Undefined to keep it, null for none. */
    readonly consumerId: ConsumerId | null | undefined;
    readonly versions: Versions;
  },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("issued_keys")
    .set((eb) => ({
      ...toIssuedColumns(settings),
      ...(consumerId === undefined ? {} : { consumer_id: consumerId }),
      version: eb("version", "+", 1),
      updated_at: sql<Date>`clock_timestamp()`,
    }))
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Increments the version of a key's counter, so that no use is counted by facts that nodes remember, and sets its balance. Call it
 * last in the transaction, because admission waits for the row that it locks.
 *
 * @param change.limits the new limits; undefined if the key keeps its limits. The windows of other limits are removed.
 * @param change.remainingCredits the new balance, from which the next refill is due; null for no credits, undefined to keep
 *   the balance.
 */
export async function finishKeyChange(
  trx: WorkspaceTrx,
  id: IssuedKeyId,
  {
    limits,
    remainingCredits,
  }: {
    readonly limits: readonly NamedLimit[] | undefined;
    readonly remainingCredits: number | null | undefined;
  },
): Promise<void> {
  const windows = limits ? sql`, windows = ${windowsOf(limits)}` : sql``;
  const credits =
    remainingCredits === undefined
      ? sql``
      : sql`, credits = ${remainingCredits}::bigint, credits_refilled_at = ${clockIf(remainingCredits !== null)}`;
  await sql`
    update key_counters set version = version + 1${windows}${credits} where key_id = ${id}`.execute(trx);
}

/** Records when consumers lose keys. Those that have none left are purged later. */
export async function markConsumersUnused(trx: WorkspaceTrx, keyIds: readonly IssuedKeyId[]): Promise<void> {
  await sql`
    update consumers set unused_since = clock_timestamp()
    where id in (select consumer_id from issued_keys where id = any(${keyIds}::uuid[]))`.execute(trx);
}

/**
 * Deletes keys with their old secrets and, by a trigger, their counters. Lock the keys first, and call this last in the
 * transaction, because admission waits for the counters. They are locked in the order of their keys, as admission locks them.
 */
export async function deleteIssuedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ids: readonly IssuedKeyId[],
): Promise<void> {
  await sql`
    delete from retired_issued_secrets
    where key_id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}`.execute(trx);
  await markConsumersUnused(trx, ids);
  await sql`
    select from key_counters where key_id = any(${ids}::uuid[]) order by key_id for update`.execute(trx);
  await sql`
    delete from issued_keys where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}
      and ${areUsesLocked(sql`${ids}::uuid[]`)}`.execute(trx);
}
