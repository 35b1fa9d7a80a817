import { sql } from "kysely";
import type { IssuedKeyId, KeyspaceId } from "./ids.ts";
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

/** Disables or enables keys. Lock them first, and call `bumpKeyVersions` last in the transaction. */
export async function setIssuedKeysDisabled(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ids: readonly IssuedKeyId[],
  isDisabled: boolean,
): Promise<void> {
  await sql`
    update issued_keys set disabled_at = ${isDisabled ? sql`clock_timestamp()` : sql`null`},
      version = version + 1, updated_at = clock_timestamp()
    where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}`.execute(trx);
}
