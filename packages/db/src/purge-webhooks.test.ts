import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { explainAll } from "./explain.test-kit.ts";
import type { WebhookId } from "./ids.ts";
import { addWorkspace } from "./issued-keys.test-kit.ts";
import { createWebhookPurge, purgeWebhooks } from "./purge-webhooks.ts";
import {
  addDeliveries,
  addWebhook,
  append,
  collectSteps,
  countRows,
  holdOpen,
  passHour,
  removeWorkspace,
  runPurge,
} from "./purge-workspaces.test-kit.ts";
import { lockPurge } from "./purge-workspaces.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { addDelivery } from "./webhook-deliveries.ts";
import { deleteWebhook } from "./webhooks.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate deleted_webhooks, graphile_worker._private_jobs, graphile_worker._private_job_queues`.execute(
    database.owner,
  );
});

/** Adds a webhook with a test message, which is to be sent. */
async function addSendingWebhook(scope: WorkspaceScope): Promise<WebhookId> {
  const webhookId = await addWebhook(database, scope);
  await inWorkspace(database.db, scope, (trx) =>
    addDelivery(trx, scope, { webhookId, eventId: null, action: "webhook.test" }),
  );
  return webhookId;
}

async function readQueues(): Promise<unknown[]> {
  const { rows } = await sql<{ name: string }>`
    select queue_name as name from graphile_worker._private_job_queues order by id`.execute(database.owner);
  return rows.map(({ name }) => name);
}

test("the deletion of a webhook leaves its deliveries to the purge, which keeps those of others", async () => {
  const scope = await addWorkspace(database.db);
  const [deleted, kept] = [await addWebhook(database, scope), await addWebhook(database, scope)];
  await addDeliveries(database, deleted, 1_100);
  await addDeliveries(database, kept, 2);
  await inWorkspace(database.db, scope, (trx) => deleteWebhook(trx, scope, deleted, undefined));
  expect((await countRows(database, scope))[1]).toBe(1_102);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 2, 0, 0, 1]);
  await passHour(database);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 2, 0, 0, 0]);
});

test("a transaction that waits for the deletion of a webhook adds its event without a delivery", async () => {
  const scope = await addWorkspace(database.db);
  const webhookId = await addWebhook(database, scope);
  const deletion = await holdOpen(database, scope, (trx) => deleteWebhook(trx, scope, webhookId, undefined));
  const writer = inWorkspace(database.db, scope, (trx) => append(trx, scope));
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  await deletion.commit();
  await writer;
  expect(await countRows(database, scope)).toEqual([1, 0, 0, 0, 1]);
});

test("one round visits every deleted webhook, although none has a delivery", async () => {
  const scope = await addWorkspace(database.db);
  await sql`
    insert into deleted_webhooks (workspace_id, id) select ${scope.workspaceId}, gen_random_uuid()
    from generate_series(1, 1200)`.execute(database.owner);
  await runPurge(database);
  const { rows } = await sql`select from deleted_webhooks where next_purge_at <= now()`.execute(
    database.owner,
  );
  expect(rows).toEqual([]);
  await passHour(database);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 0, 0]);
});

test("a step of the deliveries of deleted webhooks deletes at most its limit", async () => {
  const scope = await addWorkspace(database.db);
  for (let index = 0; index < 2; index += 1) {
    const id = await addWebhook(database, scope);
    await addDeliveries(database, id, 2);
    await inWorkspace(database.db, scope, (trx) => deleteWebhook(trx, scope, id, undefined));
  }
  const steps = await collectSteps(database, createWebhookPurge(), 3);
  // 4 deliveries and the visits of 2 records.
  expect(steps.reduce((sum, count) => sum + count, 0)).toBe(6);
  expect(Math.max(...steps)).toBe(3);
});

test("while another node purges the deliveries of a workspace, a step neither waits nor deletes any", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addWebhook(database, scope);
  await addDeliveries(database, id, 2);
  await inWorkspace(database.db, scope, (trx) => deleteWebhook(trx, scope, id, undefined));
  const other = await holdOpen(database, scope, (trx) => lockPurge(trx, "webhooks", scope.workspaceId));
  expect(await createWebhookPurge()(database.db, 10)).toBe(0);
  await other.commit();
  expect(await createWebhookPurge()(database.db, 10)).toBe(2);
});

test("the deliveries of a webhook that was restored by hand and is deleted again are purged like others", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addWebhook(database, scope);
  await addDeliveries(database, id, 2);
  await inWorkspace(database.db, scope, async (trx) => {
    await sql`
      insert into deleted_webhooks (workspace_id, id, deleted_at, next_purge_at)
      values (${scope.workspaceId}, ${id}, now() - interval '2 hours', now() + interval '1 hour')`.execute(
      trx,
    );
    await deleteWebhook(trx, scope, id, undefined);
  });
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 0, 1]);
});

test("a step reads only the deliveries that it deletes, although statistics say that most are of the webhook", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addWebhook(database, scope);
  await addDeliveries(database, id, 3_000);
  await sql`analyze webhook_deliveries`.execute(database.owner);
  await inWorkspace(database.db, scope, (trx) => deleteWebhook(trx, scope, id, undefined));
  const plans = await inWorkspace(database.db, scope, (trx) =>
    explainAll(trx, (recording) => purgeWebhooks(recording, scope, 10), { avoidsScans: false }),
  );
  // The existence of deliveries, and those to delete.
  expect(plans.match(/using webhook_deliveries_webhook .*\n.*Index Cond: .*webhook_id = /g)).toHaveLength(2);
  expect(plans).not.toContain("Seq Scan on webhook_deliveries");
});

test("the purge deletes the queue of a deleted webhook when it has no jobs and none is running, and keeps those of others", async () => {
  const scope = await addWorkspace(database.db);
  const [deleted, kept] = [await addSendingWebhook(scope), await addSendingWebhook(scope)];
  await inWorkspace(database.db, scope, (trx) => deleteWebhook(trx, scope, deleted, undefined));
  // The first round deletes the delivery.
  for (let round = 0; round < 2; round += 1) await runPurge(database);
  expect(await readQueues()).toEqual([deleted, kept]);
  await sql`delete from graphile_worker._private_jobs`.execute(database.owner);
  await sql`
    update graphile_worker._private_job_queues set locked_at = now(), locked_by = 'another node'`.execute(
    database.owner,
  );
  await passHour(database);
  await runPurge(database);
  expect(await readQueues()).toEqual([deleted, kept]);
  expect(await countRows(database, scope)).toEqual([0, 1, 0, 0, 1]);
  await sql`update graphile_worker._private_job_queues set locked_at = null, locked_by = null`.execute(
    database.owner,
  );
  await passHour(database);
  await runPurge(database);
  expect(await readQueues()).toEqual([kept]);
  expect(await countRows(database, scope)).toEqual([0, 1, 0, 0, 0]);
});

test("the queues of the webhooks of a deleted workspace are deleted too", async () => {
  const scope = await addWorkspace(database.db);
  await addSendingWebhook(scope);
  await sql`delete from graphile_worker._private_jobs`.execute(database.owner);
  await removeWorkspace(database, scope);
  await runPurge(database);
  expect(await readQueues()).toEqual([]);
});

test("the queue of a webhook that exists is kept, whatever is recorded about it", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addSendingWebhook(scope);
  await sql`delete from graphile_worker._private_jobs`.execute(database.owner);
  await sql`delete from webhook_deliveries`.execute(database.owner);
  await inWorkspace(database.db, scope, (trx) =>
    sql`insert into deleted_webhooks (workspace_id, id) values (${scope.workspaceId}, ${id})`.execute(trx),
  );
  await runPurge(database);
  expect(await readQueues()).toEqual([id]);
});
