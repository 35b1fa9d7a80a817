import { type Kysely, sql } from "kysely";

/**
 * Lets the product's roles add jobs in their transactions. The queue has its own schema and migrations (graphile-worker),
 * and its tables are visible only to their owner, as whom the function runs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function add_job(task text, payload json, key text, max_attempts integer) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      perform graphile_worker.add_job(task, payload => payload, job_key => key, max_attempts => max_attempts);
    end $body$`.execute(db);
  await sql`revoke all on function add_job(text, json, text, integer) from public`.execute(db);
  await sql`
    grant execute on function add_job(text, json, text, integer) to latchkey_tenant, latchkey_admission`.execute(
    db,
  );
}
