import { clientConfig } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";
import { sql } from "kysely";
import pg from "pg";
import { inject, onTestFinished } from "vitest";

/** Runs a statement that locks rows or a table, and holds the locks until the returned function is called. */
export async function holdLocks(
  database: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ ...clientConfig(inject("postgres"), "test locker"), database });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query(statement, [...values]);
  return () => client.query("commit");
}

/** Counts the connections that wait for a lock in the current database. */
export async function countWaiting(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]?.count ?? 0;
}
