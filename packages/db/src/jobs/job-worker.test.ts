import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { clientConfig } from "../connection.ts";
import { databaseFailure } from "../database-failure.ts";
import { createDatabaseGate } from "../testing/database-gate.ts";
import { createTestDatabase, type TestDatabase } from "../testing/test-database.ts";
import { addJob, addQueuedJobs } from "./add-job.ts";
import type { JobPayloads } from "./job.ts";
import { countCompleting } from "./job-worker.test-kit.ts";
import { JobWorker } from "./job-worker.ts";
import { addJobOncePerMinute } from "./queue-upkeep.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const workers: JobWorker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close();
  await sql`truncate graphile_worker._private_jobs, graphile_worker._private_job_queues, graphile_worker._private_known_crontabs`.execute(
    database.owner,
  );
});

const notExpected = () => Promise.reject(new Error("not expected"));

type ResetPayload = JobPayloads["send-reset-link"];

/** Starts a worker that passes the email addresses of its jobs to `perform`. */
function startWorker(perform: (email: string) => Promise<void> | void, onFailure = vi.fn()) {
  workers.push(
    new JobWorker({
      connection: database.connection,
      tasks: {
        "send-invitation": notExpected,
        "send-verification-link": notExpected,
        "send-email-change": notExpected,
        "send-email-changed": notExpected,
        "send-reset-link": async ({ email }: ResetPayload) => perform(email),
      },
      onFailure,
      pollEveryMs: 50,
    }),
  );
  return onFailure;
}

function add(email: string, { key = email, maxAttempts = 3, fails = false } = {}): Promise<void> {
  return database.db.transaction().execute(async (trx) => {
    await addJob(trx, "send-reset-link", { email, address: null, requestId: "" }, { key, maxAttempts });
    if (fails) throw new Error("rolled back");
  });
}

async function readJobs() {
  const { rows } = await sql<{
    key: string;
    last_error: string | null;
    isDelayed: boolean;
    isLocked: boolean;
  }>`
    select key, last_error, run_at > created_at + interval '2 seconds' as "isDelayed",
      locked_at is not null as "isLocked"
    from graphile_worker.jobs order by id`.execute(database.owner);
  return rows;
}

/** Makes all jobs due, and reads those that haven't ended. To be repeated, because an attempt that fails sets a later time. */
async function retryJobs() {
  await sql`update graphile_worker._private_jobs set run_at = now()`.execute(database.owner);
  return await readJobs();
}

test("runs a job after its transaction has committed, and none that was rolled back", async () => {
  const done = vi.fn();
  startWorker(done);
  await expect(add("never", { fails: true })).rejects.toThrow("rolled back");
  await add("ada");
  await expect.poll(() => done).toHaveBeenCalled();
  await expect.poll(readJobs).toEqual([]);
  expect(done.mock.calls).toEqual([["ada"]]);
});

test("of two workers, one runs each job", async () => {
  const done: string[] = [];
  const perform = (email: string) => void done.push(email);
  startWorker(perform);
  startWorker(perform);
  const emails = Array.from({ length: 30 }, (_, number) => `user-${number}`);
  // One after the other: on a busy machine, many concurrent additions wait too long for a connection.
  for (const email of emails) await add(email);
  await expect.poll(readJobs).toEqual([]);
  expect(done.toSorted()).toEqual(emails.toSorted());
});

test("tries a job that failed again later, reports the error, and stores no message of it", async () => {
  let [attempts, fails] = [0, true];
  const error = new Error("550 no such user: ada@example.com");
  const onFailure = startWorker(() => {
    attempts += 1;
    if (fails) throw error;
  });
  await add("ada", { maxAttempts: 25 });
  await expect.poll(() => onFailure).toHaveBeenCalledWith(error, "send-reset-link");
  // On a busy machine, a second attempt, which is due 2.7 seconds after the first one, can start and fail before this is read.
  const last_error = "send-reset-link failed";
  await expect.poll(readJobs).toMatchObject([{ key: "ada", last_error, isDelayed: true }]);
  const failedAttempts = attempts;
  fails = false;
  await expect.poll(retryJobs).toEqual([]);
  expect(attempts).toBe(failedAttempts + 1);
});

test("all attempts of a job have the same ID, and every job has a different ID", async () => {
  const ids: string[] = [];
  let fails = true;
  const perform = async (_payload: ResetPayload, jobId: string) => {
    ids.push(jobId);
    if (fails) throw new Error("again");
  };
  const onFailure = vi.fn();
  workers.push(
    new JobWorker({
      connection: database.connection,
      tasks: { "send-reset-link": perform },
      onFailure,
      pollEveryMs: 50,
    }),
  );
  await add("ada", { maxAttempts: 25 });
  await expect.poll(() => onFailure).toHaveBeenCalled();
  fails = false;
  await expect.poll(retryJobs).toEqual([]);
  const attempts = ids.splice(0);
  expect(attempts.length).toBeGreaterThanOrEqual(2);
  expect(new Set(attempts).size).toBe(1);
  await add("grace");
  await expect.poll(() => ids).toHaveLength(1);
  expect(ids[0]).not.toBe(attempts[0]);
});

test("a worker that is closed waits until the jobs that are running are completed", async () => {
  const { promise: end, resolve: endJobs } = Promise.withResolvers<void>();
  const started = vi.fn();
  const emails = Array.from({ length: 6 }, (_, number) => `user-${number}`);
  const worker = new JobWorker({
    connection: database.connection,
    tasks: {
      "send-reset-link": async () => {
        started();
        await end;
      },
    },
    onFailure: vi.fn(),
    // Most jobs wait for a connection to complete.
    connections: 2,
    concurrency: emails.length,
  });
  for (const email of emails) await add(email);
  await expect.poll(() => started).toHaveBeenCalledTimes(emails.length);
  const closed = worker.close();
  endJobs();
  await closed;
  expect(await readJobs()).toEqual([]);
});

/** Starts a worker with two connections, one of which listens for jobs. They lead through a gate. */
async function startWorkerBehindGate(perform: (email: string) => void | Promise<void>) {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.open();
  const worker = new JobWorker({
    connection: gate.connection,
    tasks: { "send-reset-link": async ({ email }) => perform(email) },
    connections: 2,
    onFailure: vi.fn(),
    pollEveryMs: 50,
  });
  workers.push(worker);
  await add("before");
  await expect.poll(readJobs).toEqual([]);
  // The statement that completed the job has been answered when the same connection has another one.
  await expect.poll(() => countCompleting(database.owner)).toBe(0);
  return gate;
}

test("a worker whose connections are dead and were never closed runs jobs again after the timeout of its statements", async () => {
  const done = vi.fn();
  const gate = await startWorkerBehindGate(done);
  gate.stall();
  await add("after");
  await expect.poll(() => done.mock.calls).toEqual([["before"], ["after"]]);
});

test("a worker makes few attempts to reach an unavailable database, and runs jobs after it is available again", async () => {
  const done = vi.fn();
  const gate = await startWorkerBehindGate(done);
  gate.leadTo(database.connection, { claimsStandby: true });
  gate.dropConnections();
  const arrivalsBefore = gate.arrivals();
  // Two attempts can fail first, at the same time. The five pauses before the next ones take at least 1.25 s together. Without
  // them, there would be an attempt at least every 50 ms.
  const startedAt = performance.now();
  await expect.poll(gate.arrivals).toBeGreaterThan(arrivalsBefore + 6);
  expect(performance.now() - startedAt).toBeGreaterThan(1_000);
  gate.leadTo(database.connection);
  await add("after");
  await expect.poll(() => done.mock.calls).toEqual([["before"], ["after"]]);
});

test("a job that ends during the pause after a failed attempt to connect is completed, and doesn't run again", async () => {
  const { promise: end, resolve: endJob } = Promise.withResolvers<void>();
  const started = vi.fn();
  const gate = await startWorkerBehindGate(async (email) => {
    if (email === "before") return;
    started();
    await end;
  });
  await add("after");
  await expect.poll(() => started).toHaveBeenCalled();
  gate.leadTo(database.connection, { claimsStandby: true });
  gate.dropConnections();
  const arrivalsBefore = gate.arrivals();
  // After four or five failures, the pause takes 0.4 s to 1 s.
  await expect.poll(gate.arrivals).toBeGreaterThan(arrivalsBefore + 4);
  gate.leadTo(database.connection);
  endJob();
  await expect.poll(readJobs).toEqual([]);
  expect(started).toHaveBeenCalledTimes(1);
});

test("a job replaces one with the same key that hasn't started", async () => {
  await add("first", { key: "same" });
  await add("second", { key: "same" });
  const done = vi.fn();
  startWorker(done);
  await expect.poll(readJobs).toEqual([]);
  expect(done.mock.calls).toEqual([["second"]]);
});

test("a job that has been running for ten minutes runs again, and others of the same process don't", async () => {
  await add("ada");
  await add("grace");
  await sql`
    update graphile_worker._private_jobs set locked_by = 'a process', attempts = 1,
      locked_at = now() - case when key = 'ada' then interval '11 minutes' else interval '9 minutes' end`.execute(
    database.owner,
  );
  const done = vi.fn();
  startWorker(done);
  await expect.poll(() => done.mock.calls).toEqual([["ada"]]);
  await expect.poll(readJobs).toMatchObject([{ key: "grace", isLocked: true }]);
});

test("a queue is released after ten minutes, even if its job has ended", async () => {
  const jobs = [{ key: "ada", payload: { email: "ada", address: null, requestId: "" } }];
  await database.db
    .transaction()
    .execute((trx) => addQueuedJobs(trx, "send-reset-link", jobs, { maxAttempts: 3, queue: "queue" }));
  await sql`
    update graphile_worker._private_job_queues set locked_by = 'a process', locked_at = now() - interval '11 minutes'`.execute(
    database.owner,
  );
  const done = vi.fn();
  startWorker(done);
  await expect.poll(() => done.mock.calls).toEqual([["ada"]]);
});

test("jobs that failed at each attempt are deleted after seven days, and immediately if another one replaced them", async () => {
  for (const email of ["failed", "old", "replaced", "running"]) await add(email);
  await sql`
    update graphile_worker._private_jobs set attempts = max_attempts,
      run_at = now() - case when key in ('old', 'running') then interval '8 days' else interval '6 days' end,
      locked_at = case when key = 'running' then now() end,
      key = case when key <> 'replaced' then key end`.execute(database.owner);
  startWorker(notExpected);
  await expect.poll(readJobs).toMatchObject([{ key: "failed" }, { key: "running" }]);
});

test("a job that doesn't end while its worker is closed is repeated by another one immediately", async () => {
  const [firstEnds, secondEnds] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [started, repeated] = [vi.fn(), vi.fn()];
  startWorker(() => {
    started();
    return firstEnds.promise;
  });
  await add("ada", { maxAttempts: 1 });
  await expect.poll(() => started).toHaveBeenCalled();
  await workers.splice(0)[0]?.close();
  const onFailure = startWorker(() => {
    repeated();
    return secondEnds.promise;
  });
  await expect.poll(() => repeated).toHaveBeenCalled();
  // The first process can't complete a job that another one runs.
  firstEnds.resolve();
  await add("grace");
  await expect.poll(() => repeated).toHaveBeenCalledTimes(2);
  expect(await readJobs()).toMatchObject([{ key: "ada", isLocked: true }, { key: "grace" }]);
  secondEnds.resolve();
  await expect.poll(readJobs).toEqual([]);
  // On a busy machine, a connection can take too long.
  expect(onFailure.mock.calls.filter(([error]) => !databaseFailure(error))).toEqual([]);
});

test("a job that couldn't be completed runs again when the worker has started again", async () => {
  await sql`create sequence failures`.execute(database.owner);
  await sql`
    create function fail_once() returns trigger language plpgsql as $body$
    begin
      if nextval('public.failures') = 1 then raise 'not now'; end if;
      return old;
    end $body$`.execute(database.owner);
  await sql`
    create trigger fail_once before delete on graphile_worker._private_jobs
      for each row execute function public.fail_once()`.execute(database.owner);
  const done = vi.fn();
  startWorker(done);
  await add("ada");
  await expect.poll(() => done).toHaveBeenCalledTimes(2);
  await expect.poll(readJobs).toEqual([]);
  await sql`drop function fail_once() cascade`.execute(database.owner);
});

/** Starts a worker with a per-minute job. Returns a mock that each run calls. */
function startPerMinuteWorker() {
  const done = vi.fn();
  workers.push(
    new JobWorker({
      connection: database.connection,
      tasks: { "find-notices": async () => done() },
      everyMinute: ["find-notices"],
      upkeepEveryMs: 50,
      onFailure: vi.fn(),
    }),
  );
  return done;
}

test("a per-minute job runs again in the next minute", async () => {
  const done = startPerMinuteWorker();
  for (let runs = 1; runs <= 2; runs += 1) {
    await expect.poll(() => done.mock.calls.length).toBeGreaterThanOrEqual(runs);
    await sql`
      update graphile_worker._private_known_crontabs set last_execution = last_execution - interval '1 minute'`.execute(
      database.owner,
    );
  }
});

test("a per-minute job runs at the start of a worker, also if clocks of nodes are or were wrong", async () => {
  await sql`
    select graphile_worker.add_job(
      'find-notices', run_at => now() + interval '1 day', job_key => 'find-notices', max_attempts => 1)`.execute(
    database.owner,
  );
  await sql`
    insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
    values ('find-notices', now() + interval '1 day', now() + interval '1 day')`.execute(database.owner);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5 * 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  const done = startPerMinuteWorker();
  await expect.poll(() => done).toHaveBeenCalled();
  await expect.poll(readJobs).toEqual([]);
});

test("nodes add a per-minute job once per minute of the database's clock", async () => {
  const pool = new pg.Pool(clientConfig(database.connection, "node"));
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  const countAdded = async () => {
    await addJobOncePerMinute(client, "find-notices");
    const { rowCount } = await client.query("delete from graphile_worker._private_jobs");
    return rowCount;
  };
  try {
    await client.query("begin"); // Within a transaction, now() stays.
    await client.query("delete from graphile_worker._private_known_crontabs");
    expect(await countAdded()).toBe(1);
    expect(await countAdded()).toBe(0);
    await client.query(
      "update graphile_worker._private_known_crontabs set last_execution = last_execution - interval '1 minute'",
    );
    expect(await countAdded()).toBe(1);
    expect(await countAdded()).toBe(0);
  } finally {
    client.release(true); // Otherwise, its locks would delay the next test.
  }
});

test("the roles of the product can add jobs, and can't see them", async () => {
  await expect(sql`select from graphile_worker.jobs`.execute(database.db)).rejects.toMatchObject({
    code: "42501",
  });
  const { rows } = await sql<{ grantee: string }>`
    select coalesce(rolname, 'public') as grantee
    from pg_proc cross join aclexplode(proacl) left join pg_roles on pg_roles.oid = grantee
    where proname = 'add_job' and pronamespace = 'public'::regnamespace and grantee <> proowner order by 1`.execute(
    database.owner,
  );
  expect(rows).toEqual([{ grantee: "latchkey_admission" }, { grantee: "latchkey_tenant" }]);
});

test("the schema has the newest migration of the library", async () => {
  const library = dirname(dirname(fileURLToPath(import.meta.resolve("graphile-worker"))));
  const names = await readdir(join(library, "sql"));
  const { rows } = await sql<{ newest: number }>`
    select max(id) as newest from graphile_worker.migrations`.execute(database.owner);
  expect(rows[0]?.newest).toBe(names.length);
});
