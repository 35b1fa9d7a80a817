import type pg from "pg";
import type { JobName } from "./job.ts";

/**
 * The time in minutes after which the node that runs an unfinished job is assumed to have been killed. Every task has
 * shorter timeouts.
 */
const abandonedAfterMinutes = 10;

/** How long a job that failed at each of its attempts is kept, in days. */
const failedJobLifetimeDays = 7;

/** The most jobs per statement, and the most statements per call; the next call continues. */
const maxPerStep = 500;
const maxSteps = 20;

/**
 * Adds a job with an empty payload, unless a node has added it in the same minute of the database's clock. A run that failed is not
 * repeated, because the next one does the same.
 */
export async function addJobOncePerMinute(client: pg.Pool | pg.PoolClient, name: JobName): Promise<void> {
  // A last execution in the future or a job that is due later, both left by a wrong clock, doesn't delay this job.
  await client.query(
    `with added as (
      insert into graphile_worker._private_known_crontabs as known (identifier, known_since, last_execution)
      values ($1, now(), now())
      on conflict (identifier) do update set last_execution = excluded.last_execution
        where date_trunc('minute', known.last_execution) is distinct from date_trunc('minute', excluded.last_execution)
      returning identifier
    )
    select graphile_worker.add_job(identifier, job_key => identifier, max_attempts => 1) from added`,
    [name],
  );
}

/** Releases the jobs of nodes that were killed. graphile-worker itself does this after four hours. */
export async function releaseAbandonedJobs(pool: pg.Pool): Promise<void> {
  // By the time of each lock. `locked_by` names a process, which may have one job that was abandoned and others that are running.
  // Jobs before their queues, in transactions of their own, because a job that ends locks its row and then its queue's.
  for (const table of ["_private_jobs", "_private_job_queues"])
    await pool.query(
      `update graphile_worker.${table} set locked_at = null, locked_by = null
      where locked_at < now() - make_interval(mins => $1)`,
      [abandonedAfterMinutes],
    );
}

/**
 * Deletes jobs that failed at each of their attempts {@link failedJobLifetimeDays} ago: their payloads contain email and IP addresses.
 * Those that were replaced while they ran lost their key, and are deleted immediately, because their replacement counts.
 */
export async function deleteFailedJobs(pool: pg.Pool): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    // The failure of an attempt sets `run_at`, to at most six hours later, and leaves `updated_at` as it is.
    const { rowCount } = await pool.query(
      `delete from graphile_worker._private_jobs where id = any(array(
        select id from graphile_worker._private_jobs
        where attempts >= max_attempts and locked_at is null
          and (key is null or run_at < now() - make_interval(days => $1))
        limit $2 for update skip locked))`,
      [failedJobLifetimeDays, maxPerStep],
    );
    if ((rowCount ?? 0) < maxPerStep) return;
  }
}

/**
 * Releases all jobs of a process, so that another one repeats them. Their attempts don't count, because a job that was on its last one
 * would never run again.
 * @param lockedBy the ID of its pool of workers.
 */
export async function releaseJobs(client: pg.Pool | pg.PoolClient, lockedBy: string): Promise<void> {
  await client.query(
    "update graphile_worker._private_jobs set attempts = greatest(0, attempts - 1) where locked_by = $1",
    [lockedBy],
  );
  await client.query("select graphile_worker.force_unlock_workers(array[$1])", [lockedBy]);
}
