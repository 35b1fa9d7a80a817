import { sql } from "kysely";
import type { Db } from "../schema.ts";

/** The number of workers' connections whose last statement completed a job. */
export async function countCompleting(owner: Db): Promise<number | undefined> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and application_name = 'latchkey jobs'
      and query like '%delete from%_private_jobs as jobs%'`.execute(owner);
  return rows[0]?.count;
}
