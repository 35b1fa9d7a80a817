import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { KeyspaceId } from "./ids.ts";
import type { Credits, NamedLimit } from "./issued-key-settings.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** What people edit of a keyspace. The defaults apply to keys that are created afterwards without a value of their own. */
export interface KeyspaceFields {
  readonly name: string;
  /** New secrets start with this prefix and an underscore. */
  readonly prefix: string;
  /** A label, such as `production`; empty for none. */
  readonly environment: string;
  /** Null for keys that don't expire. */
  readonly defaultLifetimeDays: number | null;
  readonly defaultPermissions: readonly string[];
  readonly defaultLimits: readonly NamedLimit[];
  /** Null for keys without credits. */
  readonly defaultCredits: Credits | null;
}

/** A named set of keys that a workspace issues to the consumers of its own API. */
export interface Keyspace extends KeyspaceFields {
  readonly id: KeyspaceId;
  readonly disabledAt: Date | null;
  /** The number of keys, whatever their status. */
  readonly keyCount: number;
  readonly createdAt: Date;
  readonly version: number;
}

const columns = [
  "keyspaces.id",
  "keyspaces.name",
  "keyspaces.prefix",
  "keyspaces.environment",
  "keyspaces.default_lifetime_days as defaultLifetimeDays",
  "keyspaces.default_permissions as defaultPermissions",
  "keyspaces.default_limits as defaultLimits",
  "keyspaces.default_credits as defaultCredits",
  "keyspaces.disabled_at as disabledAt",
  sql<number>`coalesce((
    select key_count from issued_key_counts counted where counted.keyspace_id = keyspaces.id), 0)`.as(
    "keyCount",
  ),
  "keyspaces.created_at as createdAt",
  "keyspaces.version",
] as const;

/** The fields of a keyspace as columns; absent fields stay as they are. */
function toColumns(fields: Partial<KeyspaceFields>) {
  const { name, prefix, environment } = fields;
  const { defaultLifetimeDays, defaultPermissions, defaultLimits, defaultCredits } = fields;
  return {
    ...(name === undefined ? {} : { name }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(environment === undefined ? {} : { environment }),
    ...(defaultLifetimeDays === undefined ? {} : { default_lifetime_days: defaultLifetimeDays }),
    ...(defaultPermissions ? { default_permissions: defaultPermissions } : {}),
    ...(defaultLimits ? { default_limits: JSON.stringify(defaultLimits) } : {}),
    ...(defaultCredits === undefined
      ? {}
      : { default_credits: defaultCredits && JSON.stringify(defaultCredits) }),
  };
}

export async function insertKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { id, ...fields }: KeyspaceFields & { readonly id: KeyspaceId },
): Promise<Keyspace> {
  const { name, prefix } = fields;
  return await trx
    .insertInto("keyspaces")
    .values({ ...toColumns(fields), name, prefix, id, workspace_id: scope.workspaceId })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export const keyspaceStatuses = ["enabled", "disabled"] as const;

export interface KeyspaceFilter {
  /** A part of a name, a prefix or an environment, in any letter case. */
  readonly search?: string | undefined;
  readonly status?: (typeof keyspaceStatuses)[number] | undefined;
}

/** Counts the keyspaces of a workspace, or those that match. */
export async function countKeyspaces(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  filter: KeyspaceFilter = {},
): Promise<number> {
  const { count } = await trx
    .selectFrom("keyspaces")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("workspace_id", "=", scope.workspaceId)
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ search = "", status }: KeyspaceFilter): RawBuilder<boolean> {
  // A search can't contain the separator.
  const text = sql`keyspaces.name || chr(31) || keyspaces.prefix || chr(31) || keyspaces.environment`;
  const conditions = [
    ...(search === "" ? [] : [containsText(text, search)]),
    ...(status ? [sql`(keyspaces.disabled_at is not null) = ${status === "disabled"}`] : []),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** A keyspace, to say where something belongs. */
export interface NamedKeyspace {
  readonly id: KeyspaceId;
  readonly name: string;
}

/** The names of the keyspaces of a workspace, oldest first, at most 1,000. */
export async function listKeyspaceNames(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<NamedKeyspace[]> {
  return await trx
    .selectFrom("keyspaces")
    .select(["id", "name"])
    .where("workspace_id", "=", scope.workspaceId)
    .orderBy("created_at")
    .orderBy("id")
    .limit(maxListedKeyspaces)
    .execute();
}

/** More than this many keyspaces, which takes a higher quota, are left out of what covers all keyspaces of a workspace. */
const maxListedKeyspaces = 1_000;

export const keyspaceOrders = {
  createdAt: { column: "keyspaces.created_at", type: "timestamptz", id: "keyspaces.id" },
  name: { column: "keyspaces.name", type: "text", id: "keyspaces.id" },
} as const satisfies Record<string, Order>;

/** Returns a page of a workspace's keyspaces. */
export async function listKeyspaces(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter,
    ...page
  }: Page & { readonly sort: keyof typeof keyspaceOrders; readonly filter: KeyspaceFilter },
): Promise<(Keyspace & { position: string })[]> {
  const query = trx
    .selectFrom("keyspaces")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where(matches(filter));
  return await cutPage(query, keyspaceOrders[sort], page).execute();
}

export async function findKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
): Promise<Keyspace | undefined> {
  return await selectKeyspace(trx, scope, id).executeTakeFirst();
}

/** Locks a keyspace against other changes until the transaction ends. Returns undefined if it doesn't exist. */
export async function lockKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
): Promise<Keyspace | undefined> {
  return await selectKeyspace(trx, scope, id).forNoKeyUpdate().executeTakeFirst();
}

/** Locks a keyspace against deletion until the transaction ends, but not against other changes. */
export async function lockKeyspaceAgainstDeletion(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
): Promise<Keyspace | undefined> {
  return await selectKeyspace(trx, scope, id).forKeyShare().executeTakeFirst();
}

function selectKeyspace(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope, id: KeyspaceId) {
  return trx
    .selectFrom("keyspaces")
    .select(columns)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", id);
}

/**
 * Changes a keyspace. If it is disabled or enabled, call `bumpOwnerVersions` last in the transaction.
 * @returns undefined if it is at none of `versions`.
 */
export async function updateKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
  {
    fields,
    isDisabled,
    versions,
  }: {
    readonly fields: Partial<KeyspaceFields>;
    readonly isDisabled: boolean | undefined;
    readonly versions: Versions;
  },
): Promise<Keyspace | undefined> {
  return await trx
    .updateTable("keyspaces")
    .set((eb) => ({
      ...toColumns(fields),
      ...(isDisabled === undefined
        ? {}
        : { disabled_at: isDisabled ? sql<Date>`coalesce(disabled_at, clock_timestamp())` : null }),
      updated_at: sql<Date>`clock_timestamp()`,
      version: eb("version", "+", 1),
    }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .returning(columns)
    .executeTakeFirst();
}

/**
 * Deletes a keyspace. Once this is committed, none of its keys is valid: a trigger increments its version as an owner. Its
 * keys and consumers are purged later. Returns false if it is at none of `versions`.
 */
export async function deleteKeyspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: KeyspaceId,
  versions: Versions,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("keyspaces")
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
