import { type RawBuilder, sql } from "kysely";
import { attachRows, type FoundPage, findBoundedPage } from "./bounded-page.ts";
import { type ConsumerId, createId, type KeyspaceId } from "./ids.ts";
import type { NamedLimit } from "./issued-key-settings.ts";
import { statusOf } from "./issued-key-status.ts";
import { lastUsedAtOf, usageCountOf, useRowOf } from "./issued-key-uses.ts";
import { insertKeyCounter, windowsOf } from "./key-counters.ts";
import type { ExaminedRows, Order, Page } from "./page.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The customer or user of a workspace's own API that keys belong to. */
export interface Consumer {
  readonly id: ConsumerId;
  readonly keyspaceId: KeyspaceId;
  /** As the workspace's own system identifies the consumer; unique in the keyspace. */
  readonly externalId: string;
  /** The limits that all keys of the consumer share. */
  readonly limits: readonly NamedLimit[];
  /** The number of keys, whatever their status. */
  readonly keyCount: number;
  /** The number of keys that are neither disabled, expired nor out of credits. */
  readonly activeKeyCount: number;
  /** The exact number of uses of these keys. */
  readonly usageCount: number;
  /** When one of these keys was last used; null for never. */
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  readonly version: number;
}

/** A consumer and its keyspace. */
export interface ConsumerPath {
  readonly keyspaceId: KeyspaceId;
  readonly externalId: string;
}

/** How often {@link findOrCreateConsumer} starts again, each time because a purge deleted the consumer that it found. */
const maxAttempts = 3;

/**
 * Finds the consumer of a keyspace with an external ID, or creates it with its counter. Concurrent calls with the same external
 * ID return the same consumer: the second insert waits for the first one. A consumer that is found is not purged: the change to
 * its row makes a concurrent purge check the row again.
 */
export async function findOrCreateConsumer(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, externalId }: ConsumerPath,
): Promise<ConsumerId> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const created = await trx
      .insertInto("consumers")
      .values({
        workspace_id: workspaceId,
        keyspace_id: keyspaceId,
        id: createId("consumer"),
        external_id: externalId,
        unused_since: null,
      })
      .onConflict((conflict) => conflict.columns(["keyspace_id", "external_id"]).doNothing())
      .returning("id")
      .executeTakeFirst();
    if (created) {
      await insertKeyCounter(trx, created.id);
      return created.id;
    }
    const found = await trx
      .updateTable("consumers")
      .set({ unused_since: null })
      .where("workspace_id", "=", workspaceId)
      .where("keyspace_id", "=", keyspaceId)
      .where("external_id", "=", externalId)
      .returning("id")
      .executeTakeFirst();
    if (found) return found.id;
  }
  throw new Error("The consumer was deleted repeatedly.");
}

/** Counts the keys of a consumer, up to `maxCount`. */
export async function countConsumerKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  id: ConsumerId,
  maxCount: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from issued_keys where consumer_id = ${id} and workspace_id = ${workspaceId} limit ${maxCount}
    ) as keys`.execute(trx);
  return rows[0]?.count ?? 0;
}

/** The number of stored consumers of a workspace, including those of deleted keyspaces that are not yet purged. */
export async function countConsumers(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(consumer_count), 0)::bigint as count from issued_key_counts
    where workspace_id = ${workspaceId}`.execute(trx);
  return rows[0]?.count ?? 0;
}

/** The uses of a consumer's keys are added up. A consumer has at most 1,000 keys, and most have a few. */
function selectConsumers(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope, keyspaceId: KeyspaceId) {
  const uses = sql<{
    keyCount: number;
    activeKeyCount: number;
    usageCount: number;
    lastUsedAt: Date | null;
  }>`(
    select count(*) as "keyCount",
      count(*) filter (where ${statusOf("key", "key_counters")} = 'active') as "activeKeyCount",
      coalesce(sum(${usageCountOf("key_counters", "used")}), 0)::bigint as "usageCount",
      max(${lastUsedAtOf("key_counters", "used")}) as "lastUsedAt"
    from issued_keys key join key_counters on key_counters.key_id = key.id
      left join lateral ${useRowOf("key_counters")} used on true
    where key.consumer_id = consumers.id
  )`;
  return trx
    .selectFrom("consumers")
    .innerJoinLateral(uses.as("uses"), (join) => join.onTrue())
    .select([
      "consumers.id",
      "consumers.keyspace_id as keyspaceId",
      "consumers.external_id as externalId",
      "consumers.limits",
      "uses.keyCount",
      "uses.activeKeyCount",
      "uses.usageCount",
      "uses.lastUsedAt",
      "consumers.created_at as createdAt",
      "consumers.version",
    ])
    .where("consumers.workspace_id", "=", workspaceId)
    .where("consumers.keyspace_id", "=", keyspaceId);
}

export async function findConsumer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, externalId }: ConsumerPath,
): Promise<Consumer | undefined> {
  return await selectConsumers(trx, scope, keyspaceId)
    .where("consumers.external_id", "=", externalId)
    .executeTakeFirst();
}

/** Each order has an index. */
export const consumerOrders = {
  createdAt: { column: "listed.created_at", type: "timestamptz", id: "listed.id" },
  externalId: { column: "listed.external_id_search", type: "text", id: "listed.id" },
} as const satisfies Record<string, Order>;

export interface ConsumerQuery {
  readonly keyspaceId: KeyspaceId;
  readonly sort: keyof typeof consumerOrders;
  /** `search` is the first part of an external ID, in any letter case. */
  readonly filter: { readonly search?: string | undefined };
}

/**
 * The most keys that the consumers of a page have together, unless its first consumer alone has more. Adding up the uses of
 * 10,000 keys takes about 0.1 s on one core of an AMD EPYC.
 */
export const maxSummedKeys = 10_000;

/**
 * Returns a page of the consumers of a keyspace. It can have fewer rows than its limit, although there are more; then
 * `examinedTo` is the position after which they are. It ends early if its consumers have more than {@link maxSummedKeys} keys.
 */
export async function listConsumers(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: Page & ConsumerQuery,
): Promise<ExaminedRows<Consumer & { readonly position: string }>> {
  const page = await cutAtSummedKeys(trx, scope, await findConsumerPage(trx, scope, query));
  if (page.found.length === 0) return { rows: [], examinedTo: page.examinedTo };
  const ids = page.found.map(({ id }) => id as ConsumerId); // The IDs are those of consumers.
  const rows = await selectConsumers(trx, scope, query.keyspaceId).where("consumers.id", "in", ids).execute();
  return attachRows(page, rows, query);
}

/** Leaves out the last consumers of a page if all of them together have more than {@link maxSummedKeys} keys. */
async function cutAtSummedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { found, examinedTo }: FoundPage,
): Promise<FoundPage> {
  const { rows } = await sql<{ kept: number }>`
    select count(*) as kept from (
      select place, sum(key_count) over (order by place) as summed
      from unnest(${found.map(({ id }) => id)}::uuid[]) with ordinality as listed (id, place)
        cross join lateral (
          select count(*) as key_count from issued_keys
          where consumer_id = listed.id and workspace_id = ${workspaceId}
        ) as counted
    ) as page
    where place = 1 or summed <= ${maxSummedKeys}`.execute(trx);
  const kept = found.slice(0, rows[0]?.kept);
  const last = kept.at(-1);
  if (kept.length === found.length || !last) return { found, examinedTo };
  return { found: kept, examinedTo: { id: last.id, value: last.position } };
}

/** Finds the consumers of a page of a keyspace's consumers, in bounded time. */
export async function findConsumerPage(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, sort, filter: { search }, ...page }: Page & ConsumerQuery,
): Promise<FoundPage> {
  const isMatching = search ? sql`external_id_search ^@ lower(${search})` : sql`true`;
  const select = (columns: string, condition: RawBuilder<unknown>) => sql<{ id: string }>`
    select ${sql.raw(columns)} from consumers listed
    where keyspace_id = ${keyspaceId} and workspace_id = ${workspaceId} and ${condition}`;
  const isInOrder = !search || sort === "externalId";
  return await findBoundedPage(
    trx,
    {
      order: consumerOrders[sort],
      rows: (cut) => sql`${select("*", isInOrder ? isMatching : sql`true`)} ${cut}`,
      looksUpRows: false,
      conditions: isInOrder ? [] : [isMatching],
      matching: isInOrder ? [] : [(limit) => sql<{ id: string }>`${select("id", isMatching)} limit ${limit}`],
      chosen: (ids) => select("*", sql`id = any(${ids}::uuid[]) and ${isMatching}`),
    },
    page,
  );
}

/** Locks a consumer against other changes until the transaction ends. Returns undefined if it doesn't exist. */
export async function lockConsumer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, externalId }: ConsumerPath,
): Promise<Consumer | undefined> {
  const locked = await trx
    .selectFrom("consumers")
    .select("id")
    .where("workspace_id", "=", scope.workspaceId)
    .where("keyspace_id", "=", keyspaceId)
    .where("external_id", "=", externalId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return locked && (await findConsumer(trx, scope, { keyspaceId, externalId }));
}

/**
 * Changes the limits of a consumer. Returns false if it doesn't exist or is at none of `versions`. Call `bumpOwnerVersions`
 * and then {@link removeFormerWindows} last in the transaction.
 */
export async function updateConsumer(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  id: ConsumerId,
  { limits, versions }: { readonly limits: readonly NamedLimit[]; readonly versions: Versions },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("consumers")
    .set((eb) => ({
      limits: JSON.stringify(limits),
      version: eb("version", "+", 1),
      updated_at: sql<Date>`clock_timestamp()`,
      // It may have neither keys nor limits now. The purge checks that.
      unused_since: sql<Date>`clock_timestamp()`,
    }))
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Removes the windows of limits that a consumer no longer has, so that its counter doesn't grow. It locks the counter, for which
 * verifications wait, so call it last in the transaction, after `bumpOwnerVersions`.
 */
export async function removeFormerWindows(
  trx: WorkspaceTrx,
  { id, limits }: Pick<Consumer, "id" | "limits">,
): Promise<void> {
  await sql`
    update key_counters set windows = ${windowsOf(limits)} where key_id = ${id} and windows is not null`.execute(
    trx,
  );
}
