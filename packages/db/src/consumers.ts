import { sql } from "kysely";
import { type ConsumerId, createId, type KeyspaceId } from "./ids.ts";
import { insertKeyCounter } from "./key-counters.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Finds the consumer of a keyspace with an external ID, or creates it with its counter. Concurrent calls with the same external
 * ID return the same consumer: the second insert waits for the first one.
 */
export async function findOrCreateConsumer(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { keyspaceId, externalId }: { readonly keyspaceId: KeyspaceId; readonly externalId: string },
): Promise<ConsumerId> {
  const created = await trx
    .insertInto("consumers")
    .values({
      workspace_id: workspaceId,
      keyspace_id: keyspaceId,
      id: createId("consumer"),
      external_id: externalId,
    })
    .onConflict((conflict) => conflict.columns(["keyspace_id", "external_id"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  if (created) {
    await insertKeyCounter(trx, created.id);
    return created.id;
  }
  // A consumer is deleted only with its keyspace, so the one that caused the conflict still exists.
  const { id } = await trx
    .selectFrom("consumers")
    .select("id")
    .where("workspace_id", "=", workspaceId)
    .where("keyspace_id", "=", keyspaceId)
    .where("external_id", "=", externalId)
    .executeTakeFirstOrThrow();
  return id;
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
