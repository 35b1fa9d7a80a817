import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { openDatabase, type PoolOptions } from "./connection.ts";
import { openCluster } from "./embedded/open-cluster.ts";
import { addJob } from "./jobs/add-job.ts";
import { countCompleting } from "./jobs/job-worker.test-kit.ts";
import { JobWorker } from "./jobs/job-worker.ts";
import { migrate } from "./migrate.ts";
import { Rounds } from "./rounds.ts";
import type { Db } from "./schema.ts";
import { isReadOnlyServer } from "./sqlstate.ts";
import { copyData } from "./testing/copy-data.ts";
import { createDatabaseGate, type DatabaseGate } from "./testing/database-gate.ts";
import { scratchDirectory } from "./testing/scratch-directory.ts";
import { startTestCluster, startTestStandby, type TestCluster } from "./testing/test-cluster.ts";
import { openTestPool } from "./testing/test-connection.ts";

// Connections whose server's name leads to a standby for a while, as during a failover.

let primary: TestCluster;
let standby: TestCluster;
beforeAll(async () => {
  const data = await mkdtemp(join(scratchDirectory, "latchkey-test-"));
  await copyData(inject("stoppedCluster"), data);
  const cluster = await openCluster({ dataDirectory: data });
  await migrate(cluster.superuser);
  await cluster.close();
  [primary, standby] = await Promise.all([startTestCluster({ data }), startTestStandby(data)]);
  await rm(data, { recursive: true, force: true });
});
afterAll(async () => {
  await primary?.stop();
  await standby?.stop();
});

/** Leads to the primary. */
async function createGate(): Promise<DatabaseGate> {
  const gate = await createDatabaseGate(primary.connection);
  onTestFinished(gate.close);
  gate.open();
  return gate;
}

/** Ends all connections, and leads new ones to the standby. */
function failOver(gate: DatabaseGate): void {
  gate.leadTo(standby.connection);
  gate.dropConnections();
}

async function isInRecovery(db: Db): Promise<boolean | undefined> {
  const { rows } = await sql<{ answer: boolean }>`select pg_is_in_recovery() as answer`.execute(db);
  return rows[0]?.answer;
}

/** Returns the failure of a query; undefined if it succeeds. */
function findFailure(db: Db): Promise<unknown> {
  return isInRecovery(db).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** The number of connections to the standby with this `application_name`. */
async function countOnStandby(applicationName: string): Promise<number | undefined> {
  await using db = openTestPool(standby.connection, { applicationName: "latchkey test", role: "login" });
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity where application_name = ${applicationName}`.execute(db);
  return rows[0]?.count;
}

test.each<readonly [string, Partial<PoolOptions>]>([
  ["", {}],
  [" for reads", { isReadOnly: true }],
])("a busy pool%s that rejects standbys uses the new primary after a failover", async (_which, options) => {
  const gate = await createGate();
  const applicationName = "rejects standbys";
  await using db = openDatabase(gate.connection, { applicationName, rejectsStandby: true, ...options });
  expect(await isInRecovery(db)).toBe(false);
  failOver(gate);
  await expect.poll(() => findFailure(db), { interval: 20 }).toSatisfy(isReadOnlyServer);
  gate.leadTo(primary.connection);
  await expect.poll(() => findFailure(db), { interval: 20 }).toBeUndefined();
  expect(await isInRecovery(db)).toBe(false);
  await expect.poll(() => countOnStandby(applicationName)).toBe(0);
});

test.each(["login", "latchkey_tenant"] as const)(
  "a pool with the role %s accepts a standby by default",
  async (role) => {
    await using db = openTestPool(standby.connection, { applicationName: "accepts standbys", role });
    expect(await isInRecovery(db)).toBe(true);
  },
);

test("a worker runs jobs of the new primary after a failover", async () => {
  const gate = await createGate();
  const done = vi.fn();
  const connections = 2;
  const worker = new JobWorker({
    connection: gate.connection,
    tasks: { "send-reset-link": async ({ email }) => done(email) },
    connections,
    onFailure: () => undefined,
    pollEveryMs: 50,
  });
  onTestFinished(() => worker.close());
  await using db = openTestPool(primary.connection, { applicationName: "latchkey test" });
  const add = (email: string) =>
    db
      .transaction()
      .execute((trx) =>
        addJob(
          trx,
          "send-reset-link",
          { email, address: null, requestId: "" },
          { key: email, maxAttempts: 3 },
        ),
      );
  await add("before");
  await expect.poll(() => done.mock.calls).toEqual([["before"]]);
  // A job that couldn't be completed would run again. The statement that completed it has been answered when the same connection
  // has another one.
  await using owner = openTestPool(primary.connection, { applicationName: "latchkey test", role: "login" });
  const countJobs = async () =>
    (await sql`select from graphile_worker._private_jobs`.execute(owner)).rows.length;
  await expect.poll(countJobs).toBe(0);
  await expect.poll(() => countCompleting(owner)).toBe(0);
  const arrivalsBefore = gate.arrivals();
  failOver(gate);
  // More connections than the worker can keep.
  await expect.poll(gate.arrivals).toBeGreaterThan(arrivalsBefore + connections);
  gate.leadTo(primary.connection);
  await add("after");
  await expect.poll(() => done.mock.calls).toEqual([["before"], ["after"]]);
});

test("rounds of work run on the new primary after a failover", async () => {
  const gate = await createGate();
  failOver(gate);
  const outcomes: unknown[] = [];
  const rounds = new Rounds({
    connection: gate.connection,
    applicationName: "rounds",
    everyMs: 60_000,
    closeWithinMs: 1_000,
    run: async (db) => void outcomes.push(await findFailure(db)),
  });
  onTestFinished(() => rounds.close());
  const runAgain = async () => {
    await rounds.run();
    return outcomes.at(-1);
  };
  await expect.poll(runAgain).toSatisfy(isReadOnlyServer);
  gate.leadTo(primary.connection);
  await expect.poll(runAgain).toBeUndefined();
});
