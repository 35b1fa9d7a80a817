import { type Kysely, sql } from "kysely";

/** Whether a job with this key waits, runs or has failed: the queue's tables are visible only to their owner. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function has_job(job_key text) returns boolean
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      return exists (select from graphile_worker._private_jobs job where job.key = job_key);
    end $body$`.execute(db);
  await sql`revoke all on function has_job(text) from public`.execute(db);
  await sql`grant execute on function has_job(text) to latchkey_tenant, latchkey_admission`.execute(db);
}
