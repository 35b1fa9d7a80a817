import { sql } from "kysely";
import type pg from "pg";
import type { Db } from "../schema.ts";

/**
 * Counts the connections to the database of `db` that wait for a lock. `db` must not be a transaction that polls: within a transaction,
 * `pg_stat_activity` shows only the connections that its first query found, so one that connects later is never counted.
 */
export async function countWaiting(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Counts the connections that wait for a lock of `blocker`. Unlike {@link countWaiting}, it doesn't count one whose lock was released and
 * that isn't running again yet.
 */
export async function countBlockedBy(db: Db, blocker: pg.Client): Promise<number> {
  const { rows: own } = await blocker.query<{ pid: number }>("select pg_backend_pid() as pid");
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and ${own[0]?.pid} = any(pg_blocking_pids(pid))`.execute(db);
  return rows[0]?.count ?? 0;
}
