import { sql } from "kysely";
import type { Trx } from "../schema.ts";
import type { JobName, JobPayloads } from "./job.ts";

export interface JobOptions {
  /** Replaces a job with the same key that hasn't started yet. */
  readonly key: string;
  /**
   * The most attempts. After attempt n, the next one is e^n seconds later, and at most 6 hours: 5 attempts take a minute
   * and a half, 8 take half an hour, 25 four days.
   */
  readonly maxAttempts: number;
}

/** Adds a job, which runs after the transaction is committed. */
export async function addJob<Name extends JobName>(
  trx: Trx,
  name: Name,
  payload: JobPayloads[Name],
  { key, maxAttempts }: JobOptions,
): Promise<void> {
  await sql`
    select add_job(${name}::text, ${JSON.stringify(payload)}::json, ${key}::text, ${maxAttempts}::integer)`.execute(
    trx,
  );
}

/**
 * Moves the job that calls this function to another task, after the transaction is committed. Adding a job with the
 * same key to the same queue lets the running job end, and the queue prevents the new job from starting before that.
 * @param options.attempts how many attempts failed so far, which determines the pause after the next one.
 */
export async function moveQueuedJob<Name extends JobName>(
  trx: Trx,
  name: Name,
  payload: JobPayloads[Name],
  { key, maxAttempts, queue, attempts }: JobOptions & { readonly queue: string; readonly attempts: number },
): Promise<void> {
  await sql`
    select move_queued_job(
      ${name}::text, ${JSON.stringify(payload)}::json, ${key}::text, ${maxAttempts}::integer, ${queue}::text,
      ${attempts}::integer)`.execute(trx);
}

/**
 * Adds jobs, as {@link addJob}, by one statement.
 * @param options.queue no two jobs of one queue run at the same time, on all nodes.
 */
export async function addQueuedJobs<Name extends JobName>(
  trx: Trx,
  name: Name,
  jobs: readonly { readonly key: string; readonly payload: JobPayloads[Name] }[],
  { maxAttempts, queue }: Pick<JobOptions, "maxAttempts"> & { readonly queue: string },
): Promise<void> {
  const payloads = jobs.map(({ payload }) => JSON.stringify(payload));
  const keys = jobs.map(({ key }) => key);
  await sql`
    select add_queued_jobs(${name}::text, ${payloads}::json[], ${keys}::text[], ${maxAttempts}::integer, ${queue}::text)`.execute(
    trx,
  );
}
