import { type Kysely, sql } from "kysely";

/**
 * What operators see of all tenants: the names and sizes of workspaces, and the state of the instance. The grants are
 * columns, so the role can count the events of an audit log and can't read them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`grant select (created_at, name, slug) on workspaces to latchkey_admission`.execute(db);
  await sql`grant select (service_workspace_id) on users to latchkey_admission`.execute(db);
  await sql`create policy admission on audit_events for select to latchkey_admission using (true)`.execute(
    db,
  );
  await sql`grant select (workspace_id) on audit_events to latchkey_admission`.execute(db);
  await sql`grant select (name) on migrations to latchkey_admission`.execute(db);
  await createJobCounts(db);
}

/**
 * The queue's tables are visible only to their owner, as whom the function runs. It returns numbers and a time, and
 * stops counting at a thousand jobs.
 */
async function createJobCounts(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function count_jobs(out waiting bigint, out failed bigint, out oldest_due_at timestamptz)
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      select count(*) into waiting from (
        select from graphile_worker.jobs where attempts < max_attempts limit 1000) jobs;
      select count(*) into failed from (
        select from graphile_worker.jobs where attempts >= max_attempts limit 1000) jobs;
      select min(run_at) into oldest_due_at from (
        select run_at from graphile_worker.jobs
        where attempts < max_attempts and locked_at is null and run_at <= now()
        limit 1000) jobs;
    end $body$`.execute(db);
  await sql`revoke all on function count_jobs() from public`.execute(db);
  await sql`grant execute on function count_jobs() to latchkey_tenant, latchkey_admission`.execute(db);
}
