import { sql } from "kysely";
import { attachRows } from "./bounded-page.ts";
import type { ConsumerId, IssuedKeyId, KeyspaceId } from "./ids.ts";
import { findIssuedKeyPage, type IssuedKeyQuery } from "./issued-key-pages.ts";
import { type IssuedKeySettings, selectIssuedSettings } from "./issued-key-settings.ts";
import { type IssuedKeyStatus, remainingCreditsOf, statusOf } from "./issued-key-status.ts";
import { lastUsedAtOf, usageCountOf, useRowOf } from "./issued-key-uses.ts";
import type { ExaminedRows, Page } from "./page.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An old secret of an issued key that is still valid. */
export interface FormerIssuedSecret {
  /** The first characters of the secret. */
  readonly start: string;
  readonly retiredAt: Date;
  readonly goodUntil: Date;
}

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
  /** The exact number of uses: valid verifications that spent something. */
  readonly usageCount: number;
  readonly version: number;
}

/** A key and its keyspace. */
export interface IssuedKeyPath {
  readonly keyspaceId: KeyspaceId;
  readonly id: IssuedKeyId;
}

function selectIssuedKeys(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope, keyspaceId: KeyspaceId) {
  return trx
    .selectFrom("issued_keys")
    .innerJoin("key_counters", "key_counters.key_id", "issued_keys.id")
    .leftJoinLateral(useRowOf("key_counters").as("uses"), (join) => join.onTrue())
    .leftJoin("consumers", "consumers.id", "issued_keys.consumer_id")
    .select([
      "issued_keys.id",
      "issued_keys.keyspace_id as keyspaceId",
      "issued_keys.consumer_id as consumerId",
      "consumers.external_id as externalId",
      "issued_keys.start",
      ...selectIssuedSettings,
      statusOf("issued_keys", "key_counters").as("status"),
      remainingCreditsOf("issued_keys", "key_counters").as("remainingCredits"),
      sql<readonly { start: string; retiredAt: string; goodUntil: string }[]>`(
        select coalesce(json_agg(json_build_object('start', former.start, 'retiredAt', retired_at,
          'goodUntil', good_until) order by retired_at desc), '[]')
        from retired_issued_secrets former
        where key_id = issued_keys.id and good_until > clock_timestamp())`.as("formerSecrets"),
      "issued_keys.created_at as createdAt",
      lastUsedAtOf("key_counters", "uses").as("lastUsedAt"),
      usageCountOf("key_counters", "uses").as("usageCount"),
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

/**
 * Returns a page of the keys of a keyspace. It can have fewer rows than its limit, although there are more; then `examinedTo` is
 * the position after which they are.
 */
export async function listIssuedKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: Page & IssuedKeyQuery,
): Promise<ExaminedRows<IssuedKey & { readonly position: string }>> {
  const page = await findIssuedKeyPage(trx, scope, query);
  if (page.found.length === 0) return { rows: [], examinedTo: page.examinedTo };
  const ids = page.found.map(({ id }) => id as IssuedKeyId); // The IDs are those of keys.
  const rows = await selectIssuedKeys(trx, scope, query.keyspaceId)
    .where("issued_keys.id", "in", ids)
    .execute();
  return attachRows(page, rows.map(toIssuedKey), query);
}

/** The number of stored keys of a workspace, including those of deleted keyspaces that are not yet purged. */
export async function countIssuedKeys(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(key_count), 0)::bigint as count from issued_key_counts
    where workspace_id = ${workspaceId}`.execute(trx);
  return rows[0]?.count ?? 0;
}
