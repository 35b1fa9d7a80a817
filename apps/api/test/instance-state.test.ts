import { addJob } from "@latchkey/db/add-job";
import { migrations } from "@latchkey/db/migrations";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The state of the instance, as operators see it.

let app: TestApp;
let operator: ReturnType<typeof openClient>["client"];

beforeAll(async () => {
  app = await startTestApp();
  const { email } = await app.addUser(); // The first account is an operator.
  operator = await signIn(email);
});
afterAll(() => app.close());
beforeEach(async () => {
  await sql`delete from graphile_worker._private_jobs`.execute(app.owner);
});

async function signIn(email: string) {
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return client;
}

const add = (email: string): Promise<void> =>
  app.services.db
    .transaction()
    .execute((trx) =>
      addJob(trx, "send-reset-link", { email, address: null, requestId: "" }, { key: email, maxAttempts: 3 }),
    );

test("an operator sees the configuration, the database and its schema", async () => {
  expect(await operator.operator.instance.query()).toEqual({
    version: app.services.configuration.version,
    baseUrl: app.baseUrl,
    registration: "open",
    authProviders: app.services.configuration.authProviders,
    openidName: null,
    sendsEmail: app.services.sendsEmail,
    database: {
      responseMs: expect.any(Number),
      postgresVersion: expect.stringMatching(/^\d+(\.\d+)?/),
      sizeBytes: expect.any(Number),
      connectionCount: expect.any(Number),
      maxConnections: expect.any(Number),
      newestMigration: Object.keys(migrations).at(-1),
      isSchemaNewer: false,
    },
    jobs: {
      waiting: { count: 0, isMore: false },
      failed: { count: 0, isMore: false },
      oldestDueAt: null,
    },
  });
  const { database } = await operator.operator.instance.query();
  expect(database.sizeBytes).toBeGreaterThan(1_000_000);
  expect(database.connectionCount).toBeGreaterThan(0);
});

test("reports that a newer version has migrated the schema", async () => {
  await sql`insert into migrations (name, timestamp) values ('9999-later', 'now')`.execute(app.owner);
  const { database } = await operator.operator.instance.query();
  expect(database).toMatchObject({ newestMigration: "9999-later", isSchemaNewer: true });
  await sql`delete from migrations where name = '9999-later'`.execute(app.owner);
});

test("counts waiting and failed jobs, and returns when the oldest job was due", async () => {
  for (const email of ["ada", "grace", "linus", "margaret"]) await add(email);
  await sql`
    update graphile_worker._private_jobs set
      attempts = case when key = 'ada' then 3 else 1 end,
      run_at = case when key = 'grace' then now() + interval '1 hour' else now() - interval '9 minutes' end,
      locked_at = case when key = 'linus' then now() end, locked_by = case when key = 'linus' then 'worker' end`.execute(
    app.owner,
  );
  const { jobs } = await operator.operator.instance.query();
  expect(jobs).toMatchObject({
    waiting: { count: 3, isMore: false },
    failed: { count: 1, isMore: false },
  });
  const minutes = (Date.now() - new Date(jobs.oldestDueAt ?? 0).getTime()) / 60_000;
  expect(minutes).toBeGreaterThan(8.5);
  expect(minutes).toBeLessThan(9.5);
});

test("a job that waits for another job of its queue isn't overdue", async () => {
  await sql`
    select graphile_worker.add_job('deliver-to-webhook', '{}', queue_name => queue, run_at => now() - minutes * interval '1 minute')
    from (values ('busy', 20), ('idle', 5)) as job (queue, minutes)`.execute(app.owner);
  await sql`
    update graphile_worker._private_job_queues set locked_at = now(), locked_by = 'worker'
    where queue_name = 'busy'`.execute(app.owner);
  const { jobs } = await operator.operator.instance.query();
  expect(jobs.waiting.count).toBe(2);
  const minutes = (Date.now() - new Date(jobs.oldestDueAt ?? 0).getTime()) / 60_000;
  expect(minutes).toBeGreaterThan(4.5);
  expect(minutes).toBeLessThan(5.5);
});

test("counting jobs stops at 1,000", async () => {
  await sql`
    select graphile_worker.add_job('send-reset-link', '{}'::json) from generate_series(1, 1001)`.execute(
    app.owner,
  );
  const { jobs } = await operator.operator.instance.query();
  expect(jobs.waiting).toEqual({ count: 1_000, isMore: true });
});

test("a role without the privilege to connect to the database sees no size", async () => {
  await sql`revoke connect on database ${sql.id(app.database)} from public`.execute(app.owner);
  expect((await operator.operator.instance.query()).database.sizeBytes).toBeNull();
  await sql`grant connect on database ${sql.id(app.database)} to public`.execute(app.owner);
});

test("for anybody else, the procedure doesn't exist", async () => {
  const { email } = await app.addUser();
  const other = await signIn(email);
  await expect(other.operator.instance.query()).rejects.toMatchObject({ data: { code: "NOT_FOUND" } });
  await expect(openClient(app.baseUrl).client.operator.instance.query()).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
});
