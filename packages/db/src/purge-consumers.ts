import { sql } from "kysely";
import { createFairPurge } from "./fair-purge.ts";
import type { WorkspaceId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * How long a consumer without keys and limits is kept. Every window that its limits had has ended by then, because the longest
 * window has 30 days.
 */
const unusedDays = 30;

const isDue = sql`unused_since <= now() - make_interval(days => ${unusedDays})`;

/** Creates a rule that deletes consumers that have had neither keys nor limits for {@link unusedDays}. */
export function createConsumerPurge(): DeleteBatch {
  return createFairPurge({
    listWorkspaces: async (trx, { after, limit }) => {
      const { rows } = await sql<{ id: WorkspaceId }>`
        select distinct workspace_id as id from consumers
        where ${isDue} ${after ? sql`and workspace_id > ${after}` : sql``}
        order by workspace_id limit ${limit}`.execute(trx);
      return rows.map(({ id }) => id);
    },
    purge: purgeConsumers,
  });
}

/**
 * Visits at most `limit` consumers, and deletes those without keys and limits. The others are not visited again until they lose
 * a key or a limit. A consumer gets a key only after a change to its row, so that this statement, which locks the row, finds
 * that it is not due anymore.
 *
 * A trigger deletes the counters, which are locked first. Rows that another transaction has locked are left for a later round,
 * so this can't deadlock with admission. The version of a consumer as an owner can be deleted, because no key remembers it.
 * @returns how many consumers it visited.
 */
async function purgeConsumers(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ visited: number }>`
    with due as materialized (
      select id, limits from consumers
      where workspace_id = ${workspaceId} and ${isDue}
      order by unused_since limit ${limit} for update skip locked
    ),
    unused as materialized (
      select id from due
      where limits = '[]' and not exists (select from issued_keys where consumer_id = due.id)
    ),
    kept as (
      update consumers set unused_since = null
      where id in (select id from due except select id from unused)
    ),
    counters as materialized (
      select key_id from key_counters where key_id in (select id from unused) for update skip locked
    ),
    purged as (
      delete from consumers where id in (select key_id from counters) returning id
    ),
    versions as (
      delete from owner_versions where owner_id in (select id from purged)
    )
    select (select count(*) from purged) + (select count(*) from due) - (select count(*) from unused) as visited`.execute(
    trx,
  );
  return rows[0]?.visited ?? 0;
}
