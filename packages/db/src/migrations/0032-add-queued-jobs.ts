import { type Kysely, sql } from "kysely";

/**
 * Adds many jobs to one queue by one call. `add_queued_job` searches the jobs once per call, so that a transaction with
 * thousands of calls takes longer with each of them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function add_queued_jobs(task text, payloads json[], keys text[], max_attempts integer, queue text) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      perform graphile_worker.add_jobs(array(
        select row(
          task, job.payload, queue, null, max_attempts, job.key, null, null
        )::graphile_worker.job_spec
        from unnest(payloads, keys) as job (payload, key)));
    end $body$`.execute(db);
  await sql`revoke all on function add_queued_jobs(text, json[], text[], integer, text) from public`.execute(
    db,
  );
  await sql`
    grant execute on function add_queued_jobs(text, json[], text[], integer, text)
    to latchkey_tenant, latchkey_admission`.execute(db);
}
