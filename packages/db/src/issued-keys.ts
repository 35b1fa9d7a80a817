import { type RawBuilder, sql } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyspaceId } from "./ids.ts";
import { type IssuedKeySettings, selectIssuedSettings } from "./issued-key-settings.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An old secret of an issued key that is still valid. */
export interface FormerIssuedSecret {
  /** The first characters of the secret. */
  readonly start: string;
  readonly retiredAt: Date;
  readonly goodUntil: Date;
}

/** Why a key is not valid, or `active`. If several reasons apply, the first one of these counts. */
export const issuedKeyStatuses = ["disabled", "expired", "out-of-credits", "active"] as const;
export type IssuedKeyStatus = (typeof issuedKeyStatuses)[number];

/** A key of a keyspace, without its secret or hash. */
export interface IssuedKey extends IssuedKeySettings {
  readonly id: IssuedKeyId;
  readonly keyspaceId: KeyspaceId;
  readonly consumerId: ConsumerId | null;
  readonly externalId: string | null;
  readonly start: string;
  /** By the database's clock. A disabled keyspace doesn't change it. */
  readonly status: IssuedKeyStatus;
  /** The balance, with a refill that is due; null without credits. */
  readonly remainingCredits: number | null;
  /** The old secrets that are still valid, newest first. */
  readonly formerSecrets: readonly FormerIssuedSecret[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** The exact number of verifications that were valid. */
  readonly usageCount: number;
  readonly version: number;
}

/** A key and its keyspace. */
export interface IssuedKeyPath {
  readonly keyspaceId: KeyspaceId;
  readonly id: IssuedKeyId;
}

/**
 * SQL for the balance of a key, as the next use finds it: a refill that became due since the balance was last set or refilled
 * counts. A refill never reduces the balance.
 */
const remainingCredits = sql<number | null>`case
  when latest_refill(issued_keys.refill, clock_timestamp()) > key_counters.credits_refilled_at
  then greatest(key_counters.credits, (issued_keys.refill ->> 'amount')::bigint)
  else key_counters.credits end`;

const isExpired = sql`coalesce(issued_keys.expires_at <= clock_timestamp(), false)`;

const status = sql<IssuedKeyStatus>`case
  when issued_keys.disabled_at is not null then 'disabled'
  when ${isExpired} then 'expired'
  when ${remainingCredits} = 0 then 'out-of-credits'
  else 'active' end`;

function selectIssuedKeys(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope, keyspaceId: KeyspaceId) {
  return trx
    .selectFrom("issued_keys")
    .innerJoin("key_counters", "key_counters.key_id", "issued_keys.id")
    .leftJoin("consumers", "consumers.id", "issued_keys.consumer_id")
    .select([
      "issued_keys.id",
      "issued_keys.keyspace_id as keyspaceId",
      "issued_keys.consumer_id as consumerId",
      "consumers.external_id as externalId",
      "issued_keys.start",
      ...selectIssuedSettings,
      status.as("status"),
      remainingCredits.as("remainingCredits"),
      sql<readonly { start: string; retiredAt: string; goodUntil: string }[]>`(
        select coalesce(json_agg(json_build_object('start', former.start, 'retiredAt', retired_at,
          'goodUntil', good_until) order by retired_at desc), '[]')
        from retired_issued_secrets former
        where key_id = issued_keys.id and good_until > clock_timestamp())`.as("formerSecrets"),
      "issued_keys.created_at as createdAt",
      "key_counters.last_used_at as lastUsedAt",
      "key_counters.use_count as usageCount",
      "issued_keys.version",
    ])
    .where("issued_keys.workspace_id", "=", workspaceId)
    .where("issued_keys.keyspace_id", "=", keyspaceId);
}

type IssuedKeyRow = Awaited<ReturnType<ReturnType<typeof selectIssuedKeys>["executeTakeFirstOrThrow"]>>;

function toIssuedKey({ formerSecrets, ...row }: IssuedKeyRow): IssuedKey {
  return {
    ...row,
    formerSecrets: formerSecrets.map(({ start, retiredAt, goodUntil }) => ({
      start,
      retiredAt: new Date(retiredAt),
      goodUntil: new Date(goodUntil),
    })),
  };
}

export async function findIssuedKey(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { keyspaceId, id }: IssuedKeyPath,
): Promise<IssuedKey | undefined> {
  const row = await selectIssuedKeys(trx, scope, keyspaceId)
    .where("issued_keys.id", "=", id)
    .executeTakeFirst();
  return row && toIssuedKey(row);
}

export interface IssuedKeyFilter {
  /** The first part of a name, in any letter case. */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly status?: IssuedKeyStatus | undefined;
  /** The first characters of the secret. */
  readonly start?: string | undefined;
  /** A permission of the key, as it is stored. A wildcard doesn't match other permissions. */
  readonly permission?: string | undefined;
}

export const issuedKeyOrders = {
  createdAt: { column: "issued_keys.created_at", type: "timestamptz", id: "issued_keys.id" },
  name: { column: "issued_keys.name", type: "text", id: "issued_keys.id" },
} as const satisfies Record<string, Order>;

/** Returns a page of the keys of a keyspace. */
export async function listIssuedKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter,
    keyspaceId,
    ...page
  }: Page & {
    readonly keyspaceId: KeyspaceId;
    readonly sort: keyof typeof issuedKeyOrders;
    readonly filter: IssuedKeyFilter;
  },
): Promise<(IssuedKey & { position: string })[]> {
  const query = selectIssuedKeys(trx, scope, keyspaceId).where(matches(keyspaceId, filter));
  const rows = await cutPage(query, issuedKeyOrders[sort], page).execute();
  return rows.map((row) => ({ ...toIssuedKey(row), position: row.position }));
}

/** Each condition has an index, except for credits, whose balance changes with every use. */
function matches(keyspaceId: KeyspaceId, filter: IssuedKeyFilter): RawBuilder<boolean> {
  const { name, externalId, start, permission } = filter;
  const conditions = [
    ...(name === undefined ? [] : [sql`lower(issued_keys.name) like ${toPrefixPattern(name.toLowerCase())}`]),
    ...(start === undefined ? [] : [sql`issued_keys.start like ${toPrefixPattern(start)}`]),
    ...(externalId === undefined
      ? []
      : [
          sql`issued_keys.consumer_id = (
            select id from consumers where keyspace_id = ${keyspaceId} and external_id = ${externalId})`,
        ]),
    ...(permission === undefined ? [] : [sql`issued_keys.permissions @> array[${permission}]::text[]`]),
    ...listStatusConditions(filter.status),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function listStatusConditions(wanted: IssuedKeyStatus | undefined): readonly RawBuilder<unknown>[] {
  switch (wanted) {
    case undefined:
      return [];
    case "disabled":
      return [sql`issued_keys.disabled_at is not null`];
    case "expired":
      return [sql`issued_keys.disabled_at is null`, sql`issued_keys.expires_at <= clock_timestamp()`];
    default:
      return [sql`issued_keys.disabled_at is null`, sql`${status} = ${wanted}`];
  }
}

/** A pattern for texts that start like this one. */
function toPrefixPattern(text: string): string {
  return `${text.replace(/[\\%_]/g, "\\$&")}%`;
}

/** The number of stored keys of a workspace, including those of deleted keyspaces that are not yet purged. */
export async function countIssuedKeys(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(key_count), 0)::bigint as count from issued_key_counts
    where workspace_id = ${workspaceId}`.execute(trx);
  return rows[0]?.count ?? 0;
}
