import { type Kysely, sql } from "kysely";

/** The deletion of many queues takes a while. In the same transaction, the lock of migration 0061 would stop changes until its end. */
export const startsTransaction = true;

/**
 * A function with which the purge deletes the queues of deleted webhooks. Each job that starts locks the rows of all queues, so
 * their number must be bounded.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Adding a job to a queue while this deletes it would add a job without a queue. The caller ensures that nobody does.
  await sql`
    create function delete_job_queues(names text[]) returns setof text
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      delete from graphile_worker._private_job_queues where id = any(array(
        select queue.id from graphile_worker._private_job_queues queue
        where queue.queue_name = any(names) and queue.locked_at is null
          and not exists (select from graphile_worker._private_jobs job where job.job_queue_id = queue.id)
        for update of queue skip locked));
      return query
        select queue.queue_name from graphile_worker._private_job_queues queue where queue.queue_name = any(names);
    end $body$`.execute(db);
  await sql`revoke all on function delete_job_queues(text[]) from public`.execute(db);
  await sql`grant execute on function delete_job_queues(text[]) to latchkey_tenant, latchkey_admission`.execute(
    db,
  );
  await deleteFormerQueues(db);
}

/** Earlier versions kept the queues of all deleted webhooks. A webhook that doesn't exist gets no jobs. */
async function deleteFormerQueues(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ hasQueues: boolean }>`
    select to_regclass('graphile_worker._private_job_queues') is not null as "hasQueues"`.execute(db);
  if (!rows[0]?.hasQueues) return;
  // Lets the owner read the webhooks of all workspaces.
  await sql`set local latchkey.backup = on`.execute(db);
  await sql`
    delete from graphile_worker._private_job_queues queue
    where locked_at is null
      and not exists (select from webhooks where webhooks.id::text = queue.queue_name)
      and not exists (select from graphile_worker._private_jobs job where job.job_queue_id = queue.id)`.execute(
    db,
  );
  await sql`set local latchkey.backup = off`.execute(db);
}
