import { sql } from "kysely";
import type { IssuedKeyId, KeyspaceId } from "./ids.ts";
import { type IssuedKeySettings, selectIssuedSettings, toIssuedColumns } from "./issued-key-settings.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The keys of a keyspace to change together: by their IDs, or all keys of a consumer. */
export type ChosenKeys = { readonly ids: readonly IssuedKeyId[] } | { readonly externalId: string };

/** What a change of several keys needs to know about each of them. */
export interface LockedKey {
  readonly id: IssuedKeyId;
  readonly name: string;
  readonly start: string;
  readonly externalId: string | null;
  readonly isDisabled: boolean;
}

/**
 * Locks keys against other changes until the transaction ends, in the order of their IDs, so that two transactions can't
 * deadlock. Keys that don't exist are missing from the result.
 */
export async function lockIssuedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  keyspaceId: KeyspaceId,
  chosen: ChosenKeys,
): Promise<readonly LockedKey[]> {
  const isChosen =
    "ids" in chosen
      ? sql`key.id = any(${chosen.ids}::uuid[])`
      : sql`key.consumer_id = (
          select id from consumers where keyspace_id = ${keyspaceId} and external_id = ${chosen.externalId})`;
  const { rows } = await sql<LockedKey>`
    with locked as materialized (
      select id, name, start, consumer_id, disabled_at from issued_keys key
      where workspace_id = ${workspaceId} and keyspace_id = ${keyspaceId} and ${isChosen}
      order by id
      for no key update
    )
    select locked.id, name, start, external_id as "externalId", disabled_at is not null as "isDisabled"
    from locked left join consumers on consumers.id = consumer_id
    order by locked.id`.execute(trx);
  return rows;
}

/** The settings of a key that a change of several keys can set, and its consumer. */
export type ComparedKey = Omit<IssuedKeySettings, "refill"> & {
  readonly id: IssuedKeyId;
  readonly start: string;
  readonly externalId: string | null;
};

/** Reads the settings of locked keys, in the order of their IDs. */
export async function readIssuedSettings(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ids: readonly IssuedKeyId[],
): Promise<readonly ComparedKey[]> {
  return await trx
    .selectFrom("issued_keys")
    .leftJoin("consumers", "consumers.id", "issued_keys.consumer_id")
    .select(["issued_keys.id", "start", "external_id as externalId", ...selectIssuedSettings])
    .where("issued_keys.workspace_id", "=", workspaceId)
    .where("issued_keys.id", "in", ids)
    .orderBy("issued_keys.id")
    .execute();
}

/** Gives keys the same settings. Lock them first, and call `bumpKeyVersions` last in the transaction. */
export async function updateIssuedKeys(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ids: readonly IssuedKeyId[],
  settings: Partial<IssuedKeySettings>,
): Promise<void> {
  await trx
    .updateTable("issued_keys")
    .set((eb) => ({
      ...toIssuedColumns(settings),
      version: eb("version", "+", 1),
      updated_at: sql<Date>`clock_timestamp()`,
    }))
    .where("workspace_id", "=", workspaceId)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute();
}
