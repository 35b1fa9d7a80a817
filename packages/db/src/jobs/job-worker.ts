import { EventEmitter } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type JobHelpers, Logger, type Runner, run, type TaskList, type WorkerEvents } from "graphile-worker";
import pg from "pg";
import { clientConfig, type DatabaseConnection, poolTimeouts, statementTimeouts } from "../connection.ts";
import { createPoolClient } from "../pool-client.ts";
import { ReconnectBackoff } from "../reconnect-backoff.ts";
import type { JobName, JobTasks } from "./job.ts";
import { addJobOncePerMinute, deleteFailedJobs, releaseAbandonedJobs, releaseJobs } from "./queue-upkeep.ts";

export interface JobWorkerOptions {
  readonly connection: DatabaseConnection;
  /** The worker runs jobs with these names only. */
  readonly tasks: Partial<JobTasks>;
  /** How many jobs run at the same time; 2 by default. */
  readonly concurrency?: number;
  /**
   * How many connections the worker has: one listens for new jobs, and the others fetch and complete jobs. A job holds none
   * of them while it runs. At least 2; 3 by default.
   */
  readonly connections?: number;
  /** Jobs that are added once per minute, by one of the nodes. Their payloads are empty. */
  readonly everyMinute?: readonly JobName[];
  /** Called with each failure of a job, which is tried again later. */
  readonly onFailure: (error: unknown, job: string) => void;
  /** How often to look for jobs that are due again, in milliseconds; 2,000 by default. New jobs start immediately. */
  readonly pollEveryMs?: number;
  /**
   * How often to add per-minute jobs, to release the jobs of killed nodes and to delete failed jobs, in milliseconds; 60,000 by
   * default.
   */
  readonly upkeepEveryMs?: number;
}

/** How long `close` waits for jobs that are running, in milliseconds. They run again elsewhere if they don't end. */
const closeWithinMs = 5_000;
/**
 * How long `close` waits for Postgres, which may not respond, in milliseconds: while no job is running, and for the release of
 * those that are.
 */
const closeIdleWithinMs = 1_000;
/**
 * How long a connection waits until it can be attempted, in milliseconds: for the longest pause after a failure, and for an
 * attempt of another connection.
 */
const waitForAttemptMs = 1_000 + poolTimeouts.connectTimeoutMs;
/** The pause before the worker starts again after it failed, in milliseconds. */
const restartAfterMs = 5_000;

/** Runs the jobs of the queue in this process. Every node may have a worker, and each job runs on one of them. */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #pool: pg.Pool;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #runner: Runner | undefined;
  /** What the rows of the jobs that this process runs have as `locked_by`. */
  #lockedBy: string | undefined;
  /** How many jobs are running in this process. */
  #activeJobs = 0;

  constructor(options: JobWorkerOptions) {
    this.#options = options;
    this.#pool = new pg.Pool({
      Client: createPoolClient({
        backoff: new ReconnectBackoff(),
        // The library doesn't repeat the statement that completes a job. If it failed during a pause, the job would run again.
        waitMs: waitForAttemptMs,
        connectTimeoutMs: poolTimeouts.connectTimeoutMs,
        // The library returns a connection to the pool after a failed statement, and polls so often that none is idle for long.
        rejectsStandby: true,
      }),
      ...clientConfig(options.connection, "latchkey jobs"),
      connectionTimeoutMillis: waitForAttemptMs + poolTimeouts.connectTimeoutMs,
      max: options.connections ?? 3,
      ...statementTimeouts(poolTimeouts.statementTimeoutMs),
      idle_in_transaction_session_timeout: 10_000,
    });
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
    this.#running = this.#runUntilStopped();
  }

  /** Stops after the jobs that are running. */
  async close(): Promise<void> {
    this.#stopping.abort();
    const stopped = this.#runner?.stop().catch(() => undefined);
    await Promise.race([
      Promise.all([stopped, this.#running]).then(() => this.#pool.end()),
      delay(this.#activeJobs > 0 ? closeWithinMs : closeIdleWithinMs, undefined, { ref: false }),
    ]);
    if (this.#activeJobs === 0) return;
    await Promise.race([
      this.#giveUp().catch(() => undefined),
      delay(closeIdleWithinMs, undefined, { ref: false }),
    ]);
  }

  /** Releases the jobs that are running, so that another node repeats them immediately and not after ten minutes. */
  async #giveUp(): Promise<void> {
    const client = await this.#pool.connect();
    // From now on, the pool rejects the statement that completes a job, which would remove it from the node that repeats it.
    const ended = this.#pool.end();
    try {
      if (this.#lockedBy) await releaseJobs(client, this.#lockedBy);
    } finally {
      client.release();
    }
    await ended;
  }

  async #runUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    const events: WorkerEvents = new EventEmitter();
    events.on("pool:create", ({ workerPool }) => {
      this.#lockedBy = workerPool.id;
    });
    while (!signal.aborted) {
      try {
        // The library stops if it can't complete a job, and leaves it locked.
        if (this.#lockedBy) await releaseJobs(this.#pool, this.#lockedBy);
        this.#runner = await run({
          pgPool: this.#pool,
          events,
          taskList: this.#createTaskList(),
          // None, because the library schedules them by the clock of the node.
          parsedCronItems: [],
          concurrency: this.#options.concurrency ?? 2,
          // Without batches, the library neither waits for the statement that completes a job, so that `close` could end the
          // pool before it, nor handles its failure. Zero completes a job immediately.
          preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
          pollInterval: this.#options.pollEveryMs ?? 2_000,
          noHandleSignals: true, // `close` stops the worker.
          logger: new Logger(() => () => undefined), // Failures are reported by the tasks.
        });
        if (signal.aborted) await this.#runner.stop();
        const upkeep = this.#maintainQueue(this.#runner);
        await this.#runner.promise;
        await upkeep;
      } catch (error) {
        if (!signal.aborted) this.#options.onFailure(error, "the job queue");
      }
      await delay(restartAfterMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Adds per-minute jobs, releases the jobs of killed nodes and deletes failed jobs, until the runner ends. */
  async #maintainQueue({ promise }: Runner): Promise<void> {
    const { signal } = this.#stopping;
    const { upkeepEveryMs = 60_000 } = this.#options;
    let hasEnded = false;
    const ended = promise
      .catch(() => undefined)
      .then(() => {
        hasEnded = true;
      });
    while (!hasEnded && !signal.aborted) {
      await this.#addJobsOfMinute()
        .then(() => releaseAbandonedJobs(this.#pool))
        .then(() => deleteFailedJobs(this.#pool))
        .catch((error: unknown) => this.#options.onFailure(error, "the job queue"));
      await Promise.race([
        ended,
        delay(upkeepEveryMs, undefined, { signal, ref: false }).catch(() => undefined),
      ]);
    }
  }

  async #addJobsOfMinute(): Promise<void> {
    for (const name of this.#options.everyMinute ?? []) await addJobOncePerMinute(this.#pool, name);
  }

  #createTaskList(): TaskList {
    const { tasks, onFailure } = this.#options;
    return Object.fromEntries(
      Object.entries(tasks).map(([name, perform]) => [
        name,
        async (payload: unknown, { job }: JobHelpers) => {
          this.#activeJobs += 1;
          try {
            // The IDs start again in a database that was restored.
            const jobId = `${job.id}-${job.created_at.getTime()}`;
            await perform(payload as never, jobId); // `addJob` wrote it for this task.
          } catch (error) {
            onFailure(error, name);
            // The queue stores the message of the error, which may contain an email address.
            throw new Error(`${name} failed`);
          } finally {
            this.#activeJobs -= 1;
          }
        },
      ]),
    );
  }
}
