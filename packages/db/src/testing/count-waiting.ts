import { sql } from "kysely";
import type pg from "pg";
import type { Db } from "../schema.ts";

/**
 * Counts the connections to the database of `db` that wait for a lock. Don't poll within a transaction: there, `pg_stat_activity` keeps
 * the result of its first query.
 * @see https://www.postgresql.org/docs/18/monitoring-stats.html#MONITORING-STATS-VIEWS
 */
export async function countWaiting(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Counts the connections that wait for a lock of `blocker`. Use it if the connection waited for another lock before: right after a lock is
 * released, {@link countWaiting} can still count the connection that waited for it.
 */
export async function countBlockedBy(db: Db, blocker: pg.Client): Promise<number> {
  const { rows: own } = await blocker.query<{ pid: number }>("select pg_backend_pid() as pid");
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and ${own[0]?.pid} = any(pg_blocking_pids(pid))`.execute(db);
  return rows[0]?.count ?? 0;
}
