import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest";
import type { Origin } from "./audit-actions.ts";
import { appendAudit } from "./audit-events.ts";
import { createId, encodeId, type UserId } from "./ids.ts";
import { appendInstanceEvent, listInstanceEvents, recordRegistration } from "./instance-events.ts";
import { createPurgeRules } from "./purge.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { enterWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterEach(() => database.owner.deleteFrom("instance_events").execute());
afterAll(() => database.drop());

const page = { direction: "desc", limit: 10, filter: {} } as const;

async function addUserWithWorkspace(): Promise<{ userId: UserId; email: string; scope: WorkspaceScope }> {
  return await database.db.transaction().execute(async (trx) => {
    const email = `${randomUUID()}@example.com`;
    const added = await insertUserWithPassword(trx, { email, name: "Ada", passwordHash: "hash" });
    const userId = added as UserId; // No account has this email address.
    const workspace = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId: userId });
    return { userId, email, scope: workspace?.scope as WorkspaceScope }; // No workspace has this slug.
  });
}

test("an event keeps the names of a user and a workspace that have been deleted", async () => {
  const { userId, email, scope } = await addUserWithWorkspace();
  const origin: Origin = {
    actor: { kind: "session", userId, isRecentlyAuthenticated: true },
    address: "192.0.2.7",
    requestId: "r-1",
  };
  await database.db.transaction().execute(async (trx) => {
    const { workspaceId } = scope;
    const workspaceTrx = await enterWorkspace(trx, scope);
    await appendInstanceEvent(workspaceTrx, origin, { action: "workspace.deleted", userId, workspaceId });
  });
  await database.owner.deleteFrom("workspaces").where("id", "=", scope.workspaceId).execute();
  await database.owner.deleteFrom("users").where("id", "=", userId).execute();
  const ada = { id: userId, name: "Ada", email };
  expect(await listInstanceEvents(database.db, page)).toMatchObject([
    {
      action: "workspace.deleted",
      actorKind: "session",
      actor: ada,
      user: ada,
      workspace: { id: scope.workspaceId, name: "Team" },
      address: "192.0.2.7",
      requestId: "r-1",
    },
  ]);
});

test.each([
  ["keyspace.changed", "keyspace", "keyspaceId", { after: { name: "Production" } }],
  ["keyspace.deleted", "keyspace", "keyspaceId", { before: { name: "Production" } }],
  [
    "issued-key.credits-changed",
    "issuedKey",
    "issuedKeyId",
    { before: { credits: 1 }, after: { credits: 2 } },
  ],
  ["issued-key.deleted", "issuedKey", "issuedKeyId", { before: { name: "Acme" } }],
  ["consumer.changed", "consumer", "consumerId", { before: { limits: null }, after: { externalId: "acme" } }],
] as const)("%s by the operator has the ID of its target", async (action, kind, name, values) => {
  const { scope } = await addUserWithWorkspace();
  const targetId = createId(kind);
  const origin = { actor: { kind: "command" }, address: null, requestId: null } as const;
  await database.db.transaction().execute(async (trx) => {
    const workspaceTrx = await enterWorkspace(trx, scope);
    await appendAudit(workspaceTrx, scope, origin, { action, targetId, ...values });
  });
  const id = { [name]: encodeId(kind, targetId) };
  const { before = null, after = null } = { before: undefined, after: undefined, ...values };
  expect(await listInstanceEvents(database.db, page)).toMatchObject([
    {
      action,
      workspace: { id: scope.workspaceId },
      before: after ? before : { ...before, ...id },
      after: after ? { ...after, ...id } : null,
    },
  ]);
});

test("events are deleted after their retention, and no others", async () => {
  await sql`
    insert into instance_events (id, occurred_at, action, actor_kind)
    select gen_random_uuid(), now() - days * interval '1 day' - interval '1 minute', 'user.disabled', 'command'
    from unnest(array[0, 29, 30, 31, 400]) days`.execute(database.owner);
  const rules = createPurgeRules({ historyDays: 90, instanceLogDays: 30 });
  const rule = rules.find(({ name }) => name === "instance events");
  expect(await rule?.deleteBatch(database.db, 2)).toBe(2);
  expect(await rule?.deleteBatch(database.db, 2)).toBe(1);
  expect(await rule?.deleteBatch(database.db, 2)).toBe(0);
  expect(await listInstanceEvents(database.db, page)).toHaveLength(2);
});

test("the last registration mode is kept after its retention, so that a node that starts doesn't record it again", async () => {
  await recordRegistration(database.db, "open");
  await recordRegistration(database.db, "closed");
  await sql`update instance_events set occurred_at = occurred_at - interval '31 days'`.execute(
    database.owner,
  );
  const rules = createPurgeRules({ historyDays: 90, instanceLogDays: 30 });
  const rule = rules.find(({ name }) => name === "instance events");
  expect(await rule?.deleteBatch(database.db, 10)).toBe(1);
  await recordRegistration(database.db, "closed");
  expect(await listInstanceEvents(database.db, page)).toMatchObject([{ after: { registration: "closed" } }]);
  await recordRegistration(database.db, "open");
  expect(await rule?.deleteBatch(database.db, 10)).toBe(1);
});

test("a node records the registration mode when it differs from the one recorded last", async () => {
  await Promise.all([recordRegistration(database.db, "open"), recordRegistration(database.db, "open")]);
  await recordRegistration(database.db, "closed");
  const events = await listInstanceEvents(database.db, page);
  expect(events).toMatchObject([
    { actorKind: "configuration", before: { registration: "open" }, after: { registration: "closed" } },
    { actorKind: "configuration", before: null, after: { registration: "open" } },
  ]);
});

test.each([
  ["action", "instance_events_by_action"],
  ["actor_id", "instance_events_by_actor"],
  ["target_user_id", "instance_events_by_user"],
  ["target_workspace_id", "instance_events_by_workspace"],
])("the events with one %s are found by an index", async (column, index) => {
  await sql`
    insert into instance_events (id, action, actor_kind, actor_id, target_user_id, target_workspace_id)
    select gen_random_uuid(), 'user.disabled', 'session', id, id, id
    from (select gen_random_uuid() id from generate_series(1, 20)), generate_series(1, 100)`.execute(
    database.owner,
  );
  await sql`analyze instance_events`.execute(database.owner);
  const value = column === "action" ? "user.deleted" : randomUUID();
  const { rows } = await sql<{ "QUERY PLAN": string }>`
    explain select id from instance_events where ${sql.ref(column)} = ${value}
    order by occurred_at desc, id desc limit 51`.execute(database.db);
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain(index);
  expect(plan).not.toContain("Sort");
});
