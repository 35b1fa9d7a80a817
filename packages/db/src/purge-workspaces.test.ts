import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { listAuditEvents } from "./audit-log.ts";
import { explainAll } from "./explain.test-kit.ts";
import { addWorkspace } from "./issued-keys.test-kit.ts";
import {
  addDeliveries,
  addWebhook,
  append,
  collectSteps,
  countRows,
  holdOpen,
  openOther,
  passHour,
  removeWorkspace,
  runPurge,
} from "./purge-workspaces.test-kit.ts";
import { createWorkspacePurge, lockPurge, purgeWorkspace } from "./purge-workspaces.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { addDelivery } from "./webhook-deliveries.ts";
import { deleteWebhook } from "./webhooks.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { deleteWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate deleted_workspaces, deleted_webhooks`.execute(database.owner);
});

/** Adds a workspace with this number of audit events, which it keeps for 90 days, deliveries and blocked API keys. */
async function addFullWorkspace(count: number): Promise<WorkspaceScope> {
  const scope = await addWorkspace(database.db);
  const { workspaceId } = scope;
  await sql`update workspaces set audit_retention_days = 90 where id = ${workspaceId}`.execute(
    database.owner,
  );
  await sql`
    insert into audit_events (workspace_id, id, action, actor_kind, target_kind, target_id)
    select ${workspaceId}, gen_random_uuid(), 'workspace.renamed', 'command', 'workspace', ${workspaceId}
    from generate_series(1, ${count}::integer)`.execute(database.owner);
  await addDeliveries(database, await addWebhook(database, scope), count);
  await sql`
    with added as (
      insert into api_keys (id, user_id, name, hash, start)
      select gen_random_uuid(), user_id, 'Key', sha256(gen_random_uuid()::text::bytea), 'lk_abcdef'
      from members cross join generate_series(1, ${count}::integer) where workspace_id = ${workspaceId} returning id
    )
    insert into workspace_key_access (workspace_id, key_id, blocked_at)
    select ${workspaceId}, id, now() from added`.execute(database.owner);
  return scope;
}

test("the deletion of a workspace deletes none of the rows that can be many, and the purge deletes them", async () => {
  const [deleted, kept] = [await addFullWorkspace(1_100), await addFullWorkspace(2)];
  await removeWorkspace(database, deleted);
  expect(await countRows(database, deleted)).toEqual([1_100, 1_100, 1_100, 1, 1]);
  const listed = await inWorkspace(database.db, deleted, (trx) =>
    listAuditEvents(trx, deleted, { sort: "occurredAt", filter: {}, direction: "asc", limit: 10 }),
  );
  expect(listed).toEqual([]);
  await runPurge(database);
  expect(await countRows(database, deleted)).toEqual([0, 0, 0, 1, 1]);
  await runPurge(database);
  expect(await countRows(database, deleted)).toEqual([0, 0, 0, 1, 1]);
  await passHour(database);
  await runPurge(database);
  expect(await countRows(database, deleted)).toEqual([0, 0, 0, 0, 0]);
  expect(await countRows(database, kept)).toEqual([2, 2, 2, 0, 0]);
});

test("another node continues where one that was killed stopped", async () => {
  const scope = await addFullWorkspace(3);
  await removeWorkspace(database, scope);
  expect(await createWorkspacePurge()(database.db, 2)).toBe(2);
  // The killed node's step is rolled back.
  const killed = openOther(database);
  await database.owner.transaction().execute(async (trx) => {
    await sql`select from audit_events where workspace_id = ${scope.workspaceId} for update`.execute(trx);
    const step = expect(createWorkspacePurge()(killed, 5)).rejects.toThrow();
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(trx);
    await step;
  });
  expect(await countRows(database, scope)).toEqual([1, 3, 3, 1, 1]);
  const steps = await collectSteps(database, createWorkspacePurge(), 2);
  // The event, 3 deliveries, 3 keys and the visit of the record.
  expect(steps).toEqual([2, 2, 2, 2, 0]);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 1]);
});

test("several nodes can purge at the same time", async () => {
  const scopes = [await addFullWorkspace(300), await addFullWorkspace(300)];
  for (const scope of scopes) await removeWorkspace(database, scope);
  await Promise.all([runPurge(database), runPurge(database), runPurge(database)]);
  await runPurge(database);
  for (const scope of scopes) expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 1]);
});

test("while another node purges a workspace, a step neither waits nor deletes any row of it", async () => {
  const scope = await addFullWorkspace(2);
  await removeWorkspace(database, scope);
  const other = await holdOpen(database, scope, (trx) => lockPurge(trx, "workspace", scope.workspaceId));
  expect(await createWorkspacePurge()(database.db, 10)).toBe(0);
  await other.commit();
  // 2 events, 2 deliveries, 2 keys and the visit of the record.
  expect(await createWorkspacePurge()(database.db, 10)).toBe(7);
});

test("one call visits all deleted workspaces with few rows", async () => {
  const scopes: WorkspaceScope[] = [];
  for (let index = 0; index < 120; index += 1) {
    const scope = await addWorkspace(database.db);
    await inWorkspace(database.db, scope, (trx) => append(trx, scope));
    await removeWorkspace(database, scope);
    scopes.push(scope);
  }
  // An event and the visit of the record each.
  expect(await createWorkspacePurge()(database.db, 500)).toBe(240);
  for (const scope of scopes) expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 0]);
});

test("a workspace with many rows doesn't delay others", async () => {
  const [large, small] = [await addFullWorkspace(200), await addFullWorkspace(1)];
  await removeWorkspace(database, large);
  await removeWorkspace(database, small);
  expect(await createWorkspacePurge()(database.db, 100)).toBe(100);
  expect(await countRows(database, small)).toEqual([0, 0, 0, 1, 1]);
});

test("the deletion waits for a transaction that adds an event and a delivery, whose rows are then purged", async () => {
  const scope = await addWorkspace(database.db);
  const webhookId = await addWebhook(database, scope);
  const writer = await holdOpen(database, scope, async (trx) => {
    await append(trx, scope);
    await addDelivery(trx, scope, { webhookId, eventId: null, action: "webhook.test" });
  });
  const deletion = removeWorkspace(database, scope);
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  await writer.commit();
  await deletion;
  expect(await countRows(database, scope)).toEqual([1, 2, 0, 1, 1]);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 1]);
});

test("a transaction that waits for the deletion adds no event", async () => {
  const scope = await addWorkspace(database.db);
  const deletion = await holdOpen(database, scope, (trx) => deleteWorkspace(trx, scope, { memberIds: [] }));
  const writer = expect(inWorkspace(database.db, scope, (trx) => append(trx, scope))).rejects.toThrow(
    "doesn't exist",
  );
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  await deletion.commit();
  await writer;
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 0]);
});

test("rows that a node of a former version adds without a lock, after all others were purged, are purged too", async () => {
  const scope = await addWorkspace(database.db);
  const { workspaceId } = scope;
  const webhookId = await addWebhook(database, scope);
  const other = await addWorkspace(database.db);
  const otherWebhook = await addWebhook(database, other);
  const writers = [
    await holdOpen(database, scope, async (trx) => {
      await sql`
        insert into audit_events (workspace_id, id, action, actor_kind, target_kind, target_id)
        values (${workspaceId}, ${workspaceId}, 'workspace.renamed', 'command', 'workspace', ${workspaceId})`.execute(
        trx,
      );
      await sql`
        insert into webhook_deliveries (workspace_id, id, webhook_id, action)
        values (${workspaceId}, ${webhookId}, ${webhookId}, 'webhook.test')`.execute(trx);
    }),
    await holdOpen(database, other, (trx) =>
      sql`
        insert into webhook_deliveries (workspace_id, id, webhook_id, action)
        values (${other.workspaceId}, ${otherWebhook}, ${otherWebhook}, 'webhook.test')`.execute(trx),
    ),
  ];
  await removeWorkspace(database, scope);
  await inWorkspace(database.db, other, (trx) => deleteWebhook(trx, other, otherWebhook, undefined));
  await runPurge(database);
  for (const { commit } of writers) await commit();
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([1, 1, 0, 1, 1]);
  expect(await countRows(database, other)).toEqual([0, 1, 0, 0, 1]);
  await passHour(database);
  await runPurge(database);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 0, 0]);
  expect(await countRows(database, other)).toEqual([0, 0, 0, 0, 0]);
});

test("nothing of a workspace or a webhook that exists is purged, whatever is recorded about it", async () => {
  const scope = await addFullWorkspace(2);
  const { workspaceId } = scope;
  await inWorkspace(database.db, scope, async (trx) => {
    await sql`insert into deleted_workspaces (workspace_id) values (${workspaceId})`.execute(trx);
    await sql`
      insert into deleted_webhooks (workspace_id, id) select workspace_id, id from webhooks`.execute(trx);
  });
  await runPurge(database);
  await passHour(database);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([2, 2, 2, 0, 0]);
});

test("a workspace that was restored by hand and is deleted again is purged like others", async () => {
  const scope = await addFullWorkspace(1);
  await inWorkspace(database.db, scope, (trx) =>
    sql`
      insert into deleted_workspaces (workspace_id, deleted_at, next_purge_at)
      values (${scope.workspaceId}, now() - interval '2 hours', now() + interval '1 hour')`.execute(trx),
  );
  await removeWorkspace(database, scope);
  await runPurge(database);
  expect(await countRows(database, scope)).toEqual([0, 0, 0, 1, 1]);
});

test("no step reads a whole table, although statistics say that the workspace has most of its rows", async () => {
  const scope = await addFullWorkspace(3_000);
  await sql`analyze audit_events, webhook_deliveries, workspace_key_access`.execute(database.owner);
  await removeWorkspace(database, scope);
  await runPurge(database);
  await passHour(database);
  const plans = await inWorkspace(database.db, scope, (trx) =>
    explainAll(trx, (recording) => purgeWorkspace(recording, scope, 10), { avoidsScans: false }),
  );
  expect(plans).toContain("audit_events_in_order");
  expect(plans).not.toMatch(/Seq Scan on (audit_events|webhook_deliveries|workspace_key_access)/);
});

test("the deletion of a user changes none of the rows of keys that the user has blocked", async () => {
  const scope = await addFullWorkspace(1);
  const blocker = randomUUID();
  await sql`
    insert into users (id, name, email) values (${blocker}, 'Ada', ${`${blocker}@example.com`})`.execute(
    database.owner,
  );
  await sql`
    update workspace_key_access set blocked_by = ${blocker} where workspace_id = ${scope.workspaceId}`.execute(
    database.owner,
  );
  const read = () =>
    sql`select xmin::text, blocked_by from workspace_key_access where workspace_id = ${scope.workspaceId}`
      .execute(database.owner)
      .then(({ rows }) => rows);
  const before = await read();
  await sql`delete from users where id = ${blocker}`.execute(database.owner);
  expect(before).toHaveLength(1);
  expect(await read()).toEqual(before);
});
