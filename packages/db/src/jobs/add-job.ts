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
  /** Jobs of one queue run one after the other, on all nodes; without a queue, jobs run at the same time. */
  readonly queue?: string;
}

/** Adds a job, which runs after the transaction is committed. */
export async function addJob<Name extends JobName>(
  trx: Trx,
  name: Name,
  payload: JobPayloads[Name],
  { key, maxAttempts, queue }: JobOptions,
): Promise<void> {
  const job = sql`${name}::text, ${JSON.stringify(payload)}::json, ${key}::text, ${maxAttempts}::integer`;
  await (queue === undefined
    ? sql`select add_job(${job})`
    : sql`select add_queued_job(${job}, ${queue}::text)`
  ).execute(trx);
}
