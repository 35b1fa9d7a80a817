import { type Kysely, sql } from "kysely";

/**
 * Jobs that are due and wait for another job of their queue aren't delayed: the messages of one webhook are sent one after the other, so
 * the last one of many can wait for a long time although all workers run.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function count_jobs(out waiting bigint, out failed bigint, out oldest_due_at timestamptz)
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      select count(*) into waiting from (
        select from graphile_worker.jobs where attempts < max_attempts limit 1000) jobs;
      select count(*) into failed from (
        select from graphile_worker.jobs where attempts >= max_attempts limit 1000) jobs;
      select min(run_at) into oldest_due_at from (
        select run_at from graphile_worker._private_jobs job
        where attempts < max_attempts and locked_at is null and run_at <= now()
          and not exists (
            select from graphile_worker._private_job_queues queue
            where queue.id = job.job_queue_id and queue.locked_at is not null)
        limit 1000) jobs;
    end $body$`.execute(db);
}
