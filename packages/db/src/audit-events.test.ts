import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { appendAudit } from "./audit-events.ts";
import { type AuditFilter, listAuditEvents } from "./audit-log.ts";
import { createId, type UserId } from "./ids.ts";
import { storeNoticeSetting } from "./notices.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addWorkspace(): Promise<{ readonly scope: WorkspaceScope; readonly userId: UserId }> {
  return await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const id = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId: id });
    return { scope: made?.scope as WorkspaceScope, userId: id }; // No workspace has this slug.
  });
}

test("of the notices about a member's role, one per workspace and hour is emailed", async () => {
  const { scope, userId: ownerId } = await addWorkspace();
  const { scope: otherScope } = await addWorkspace();
  const { userId } = await addWorkspace();
  await sql`update users set email_verified = true where id = ${userId}`.execute(database.owner);
  const origin = {
    actor: { kind: "session", userId: ownerId, isRecentlyAuthenticated: true },
    address: null,
    requestId: null,
  } as const;
  const changeRole = async (
    workspace: WorkspaceScope,
    expected: { readonly isShown: boolean; readonly isEmailed: boolean },
  ) => {
    const change = {
      action: "member.role-changed",
      targetId: userId,
      before: { role: "member" },
      after: { role: "admin" },
    } as const;
    await inWorkspace(database.db, workspace, (trx) => appendAudit(trx, workspace, origin, change));
    const { rows } = await sql`
      select is_shown as "isShown", is_email_due as "isEmailed" from notices
      where user_id = ${userId} order by created_at desc limit 1`.execute(database.owner);
    expect(rows).toEqual([expected]);
  };
  const choose = (settings: { readonly inApp: boolean; readonly byEmail: boolean }) =>
    storeNoticeSetting(database.db, userId, { kind: "role-changed", ...settings });

  await changeRole(scope, { isShown: true, isEmailed: true });
  await changeRole(scope, { isShown: true, isEmailed: false });
  await choose({ inApp: false, byEmail: true });
  await changeRole(otherScope, { isShown: false, isEmailed: true });
  await changeRole(otherScope, { isShown: true, isEmailed: false });
  await sql`update users set email_verified = false where id = ${userId}`.execute(database.owner);
  await changeRole(otherScope, { isShown: false, isEmailed: false });
  await sql`update users set email_verified = true where id = ${userId}`.execute(database.owner);
  await choose({ inApp: false, byEmail: false });
  await changeRole(otherScope, { isShown: false, isEmailed: false });
  await choose({ inApp: true, byEmail: true });
  const shiftBuckets = (minutes: number) =>
    sql`update throttle_buckets set full_at = full_at - make_interval(mins => ${minutes})`.execute(
      database.owner,
    );
  // Less than an hour, even if the test takes minutes.
  await shiftBuckets(30);
  await changeRole(scope, { isShown: true, isEmailed: false });
  await shiftBuckets(30);
  await changeRole(scope, { isShown: true, isEmailed: true });
});

test.each([
  ["action", "audit_events_by_action"],
  ["actor_user_id", "audit_events_by_actor"],
  ["target_id", "audit_events_by_target"],
])("the events with one %s are found by an index", async (column, index) => {
  const { scope, userId } = await addWorkspace();
  await inWorkspace(database.db, scope, (trx) =>
    sql`
      insert into audit_events (workspace_id, id, action, actor_kind, actor_user_id, target_kind, target_id)
      select ${scope.workspaceId}, gen_random_uuid(), 'key.renamed', 'session', ${userId}, 'key', gen_random_uuid()
      from generate_series(1, 2000)`.execute(trx),
  );
  await sql`analyze audit_events`.execute(database.owner);
  const value = column === "action" ? "member.removed" : randomUUID();
  const { rows } = await inWorkspace(database.db, scope, (trx) =>
    sql<{ "QUERY PLAN": string }>`
      explain select id from audit_events
      where workspace_id = ${scope.workspaceId} and ${sql.ref(column)} = ${value}
      order by occurred_at desc, id desc limit 51`.execute(trx),
  );
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain(index);
  expect(plan).not.toContain("Sort");
});

test("a filtered page of 100,000 events reads only the events that it shows", async () => {
  const { scope, userId } = await addWorkspace();
  const [rareId, robotId] = [createId("user"), createId("user")];
  const [rareKeyId, robotKeyId, keyId] = [randomUUID(), randomUUID(), randomUUID()];
  const rare = sql`case when n % 10000 = 5000 then`;
  const even = sql`when n % 2 = 0 then`;
  await sql`
    insert into audit_events (
      workspace_id, id, occurred_at, action, actor_kind, actor_user_id, target_kind, target_id
    )
    select ${scope.workspaceId}, gen_random_uuid(), now() - n * interval '1 minute',
      ${rare} 'workspace.renamed' ${even} 'issued-key.created' else 'member.role-changed' end, 'session',
      ${rare} ${rareId}::uuid ${even} ${robotId}::uuid else ${userId}::uuid end, 'issued-key',
      ${rare} ${rareKeyId}::uuid ${even} ${robotKeyId}::uuid else ${keyId}::uuid end
    from generate_series(1, 100000) n`.execute(database.owner);
  await sql`analyze audit_events`.execute(database.owner);
  const page = { sort: "occurredAt", direction: "desc", limit: 51, after: undefined } as const;
  const read = async (filter: AuditFilter) =>
    await inWorkspace(database.db, scope, async (trx) => {
      const { result, rows } = await countReads(trx, ["audit_events"], () =>
        listAuditEvents(trx, scope, { ...page, filter }),
      );
      return { shown: result.length, read: rows };
    });
  const some = { action: "workspace.renamed", actorUserId: rareId } as const;
  expect(await read({})).toEqual({ shown: 51, read: 51 });
  expect(await read({ action: some.action })).toEqual({ shown: 10, read: 10 });
  expect(await read({ actorUserId: some.actorUserId })).toEqual({ shown: 10, read: 10 });
  expect(await read(some)).toEqual({ shown: 10, read: 10 });
  expect(await read({ action: "issued-key.created", actorUserId: robotId })).toEqual({ shown: 51, read: 51 });
  expect(await read({ action: "issued-key.created", actorUserId: userId })).toEqual({ shown: 0, read: 0 });
  expect(await read({ action: "member.removed" })).toEqual({ shown: 0, read: 0 });
  expect(await read({ targetId: rareKeyId })).toEqual({ shown: 10, read: 10 });
  expect(await read({ targetId: robotKeyId })).toEqual({ shown: 51, read: 51 });
  expect(await read({ ...some, targetId: rareKeyId })).toEqual({ shown: 10, read: 10 });
  expect(await read({ action: "issued-key.created", targetId: robotKeyId })).toEqual({ shown: 51, read: 51 });
  expect(await read({ action: "issued-key.created", targetId: keyId })).toEqual({ shown: 0, read: 0 });
  expect(await read({ actorUserId: createId("user") })).toEqual({ shown: 0, read: 0 });
});
