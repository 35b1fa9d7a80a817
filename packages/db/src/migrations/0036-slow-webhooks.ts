import { type Kysely, sql } from "kysely";

/**
 * Until when the messages of a webhook are sent among those of other slow webhooks, and a function that moves a job to
 * another task without starting its pauses between attempts again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhooks add column slow_until timestamptz`.execute(db);
  await sql`
    create function move_queued_job(
      task text, payload json, key text, max_attempts integer, queue text, former_attempts integer
    ) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      perform graphile_worker.reschedule_jobs(array[job.id], attempts => former_attempts)
      from graphile_worker.add_job(
        task, payload => payload, job_key => key, max_attempts => max_attempts, queue_name => queue) as job;
    end $body$`.execute(db);
  await sql`
    revoke all on function move_queued_job(text, json, text, integer, text, integer) from public`.execute(db);
  await sql`
    grant execute on function move_queued_job(text, json, text, integer, text, integer)
    to latchkey_tenant, latchkey_admission`.execute(db);
}
