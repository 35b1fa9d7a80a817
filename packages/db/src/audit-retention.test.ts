import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { createAuditPurge, previewRetention } from "./audit-retention.ts";
import type { UserId, WorkspaceId } from "./ids.ts";
import { Purger } from "./purger.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { insertWorkspace, updateWorkspace } from "./workspaces.ts";

let database: TestDatabase;
let ownerId: UserId;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  const user = { email: "ada@example.com", name: "Ada", passwordHash: "hash" };
  const inserted = await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user));
  ownerId = inserted as UserId; // No account has this email address.
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`update workspaces set audit_retention_days = null`.execute(database.owner);
});

/** Adds a workspace whose log has an event of each of these ages, in days. */
async function addWorkspace(days: number | null, ages: readonly number[]): Promise<WorkspaceScope> {
  return await database.db.transaction().execute(async (trx) => {
    const inserted = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId });
    const { scope, workspaceTrx } = inserted as NonNullable<typeof inserted>; // No workspace has this slug.
    await updateWorkspace(workspaceTrx, scope, { fields: { auditRetentionDays: days }, versions: undefined });
    await addEvents(workspaceTrx, scope, ages);
    return scope;
  });
}

/** Adds events of these ages, in days. */
async function addEvents(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  ages: readonly number[],
): Promise<void> {
  await sql`
    insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, target_kind, target_id)
    select ${workspaceId}, gen_random_uuid(), now() - make_interval(days => age), 'workspace.renamed',
      'command', 'workspace', ${workspaceId}
    from unnest(${ages}::integer[]) as age`.execute(trx);
}

async function listAges({ workspaceId }: { readonly workspaceId: WorkspaceId }): Promise<number[]> {
  const { rows } = await sql<{ age: number }>`
    select (extract(epoch from now() - occurred_at) / 86400)::integer as age from audit_events
    where workspace_id = ${workspaceId} order by 1`.execute(database.owner);
  return rows.map(({ age }) => age);
}

function repeat(count: number, age: number): number[] {
  return Array.from({ length: count }, () => age);
}

test("the purger deletes the events that each workspace doesn't keep, and no others", async () => {
  const [short, long, forever] = [
    await addWorkspace(30, [0, 29, 30, 90]),
    await addWorkspace(60, [0, 29, 30, 90]),
    await addWorkspace(null, [0, 4_000]),
  ];
  const failures: unknown[] = [];
  const purger = new Purger({
    connection: database.connection,
    onFailure: (error) => failures.push(error),
  });
  onTestFinished(() => purger.close());
  await purger.run();
  expect(failures).toEqual([]);
  expect(await listAges(short)).toEqual([0, 29]);
  expect(await listAges(long)).toEqual([0, 29, 30]);
  expect(await listAges(forever)).toEqual([0, 4_000]);
});

test("a step deletes at most the limit, and a workspace with many events doesn't delay the others", async () => {
  const scopes = [await addWorkspace(30, repeat(25, 40)), await addWorkspace(30, repeat(3, 40))];
  const deleteBatch = createAuditPurge();
  expect(await deleteBatch(database.db, 10)).toBe(10);
  expect(await deleteBatch(database.db, 10)).toBe(10);
  const left = await Promise.all(scopes.map(listAges));
  expect(left.map(({ length }) => length)).toEqual([8, 0]);
  expect(await deleteBatch(database.db, 10)).toBe(8);
  expect(await deleteBatch(database.db, 10)).toBe(0);
});

test("a workspace with many events isn't delayed by many others without any", async () => {
  const large = await addWorkspace(30, repeat(25, 40));
  for (let index = 0; index < 120; index += 1) await addWorkspace(30, []);
  const deleteBatch = createAuditPurge();
  const counts: number[] = [];
  // Three calls visit all of the 121 workspaces. The workspace is then finished in as many calls as it needs.
  for (let call = 0; call < 5; call += 1) counts.push(await deleteBatch(database.db, 10));
  expect(await listAges(large)).toEqual([]);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(25);
});

test("a step visits every workspace once, and deletes few events of many workspaces", async () => {
  for (let index = 0; index < 120; index += 1) await addWorkspace(30, [40, 1]);
  const deleteBatch = createAuditPurge();
  expect(await deleteBatch(database.db, 500)).toBe(120);
  expect(await deleteBatch(database.db, 500)).toBe(0);
});

test("a step visits as many workspaces as it may delete events, and the next step visits the others", async () => {
  const scopes: WorkspaceScope[] = [];
  for (let index = 0; index < 110; index += 1) scopes.push(await addWorkspace(30, []));
  const inOrder = scopes.sort((one, other) => (one.workspaceId < other.workspaceId ? -1 : 1));
  const last = inOrder.at(-1) as WorkspaceScope; // There are 110.
  await inWorkspace(database.db, last, (trx) => addEvents(trx, last, [40]));
  const deleteBatch = createAuditPurge();
  expect([await deleteBatch(database.db, 100), await deleteBatch(database.db, 100)]).toEqual([0, 1]);
});

test("a workspace whose events can't be deleted is tried once per round, and doesn't delay the others", async () => {
  const scopes = [1, 2, 3].map(() => addWorkspace(30, repeat(510, 40)));
  // In the order in which they are visited.
  const ids = (await Promise.all(scopes)).map(({ workspaceId }) => workspaceId).sort();
  const countEvents = async () =>
    (await Promise.all(ids.map((workspaceId) => listAges({ workspaceId })))).map(({ length }) => length);
  await rejectDeletion(ids[0] as WorkspaceId); // There are three.
  // Without a round, the failure ends the step, as an outage does. The next step continues with the next workspace.
  const deleteBatch = createAuditPurge();
  await expect(deleteBatch(database.db, 500)).rejects.toThrow("The deletion was rejected.");
  expect(await deleteBatch(database.db, 500)).toBe(500);
  const failures: unknown[] = [];
  const purger = new Purger({
    connection: database.connection,
    rules: [{ name: "events", deleteBatch: createAuditPurge() }],
    onFailure: (error) => failures.push(error),
  });
  onTestFinished(() => purger.close());
  await purger.run();
  expect(failures).toMatchObject([{ errors: [{ message: "The deletion was rejected." }] }]);
  expect(await countEvents()).toEqual([510, 0, 0]);
  // A sequence counts failed transactions too.
  const { rows } = await sql<{ next: number }>`select nextval('rejections') as next`.execute(database.owner);
  expect(rows[0]?.next).toBe(3);
  await sql`drop trigger reject_deletion on audit_events`.execute(database.owner);
  await purger.run();
  expect(await countEvents()).toEqual([0, 0, 0]);
});

/** Lets every deletion of an event of a workspace fail until the trigger is dropped. The sequence `rejections` counts them. */
async function rejectDeletion(workspaceId: WorkspaceId): Promise<void> {
  onTestFinished(async () => {
    await sql`drop function if exists reject_deletion cascade`.execute(database.owner);
  });
  await sql`create sequence rejections`.execute(database.owner);
  await sql`
    create function reject_deletion() returns trigger language plpgsql security definer as $body$
    begin
      perform nextval('rejections');
      raise 'The deletion was rejected.';
    end $body$`.execute(database.owner);
  await sql`
    create trigger reject_deletion before delete on audit_events for each row
      when (old.workspace_id = ${sql.lit(workspaceId)}) execute function reject_deletion()`.execute(
    database.owner,
  );
}

test("two nodes that purge at the same time delete each event once", async () => {
  const scope = await addWorkspace(30, [...repeat(200, 40), 1]);
  const counts = await Promise.all([1, 2].map(() => createAuditPurge()(database.db, 500)));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200);
  expect(await listAges(scope)).toEqual([1]);
});

test("the database lets the role delete only events that the retention doesn't keep", async () => {
  const kept = await addWorkspace(null, [4_000]);
  const limited = await addWorkspace(30, [29, 31]);
  for (const scope of [kept, limited])
    await inWorkspace(database.db, scope, (trx) => sql`delete from audit_events`.execute(trx));
  expect(await listAges(kept)).toEqual([4_000]);
  expect(await listAges(limited)).toEqual([29]);
  await expect(
    inWorkspace(database.db, limited, (trx) => sql`update audit_events set action = 'x'`.execute(trx)),
  ).rejects.toThrow("permission denied");
});

test("the database keeps every event for 30 days, whatever the retention", async () => {
  const scope = await addWorkspace(1, [0, 29, 31]);
  await inWorkspace(database.db, scope, (trx) => sql`delete from audit_events`.execute(trx));
  expect(await listAges(scope)).toEqual([0, 29]);
});

test("a preview counts the events that a retention deletes, and names the oldest", async () => {
  const scope = await addWorkspace(null, [1, 40, 50, 300]);
  const preview = (days: number) =>
    inWorkspace(database.db, scope, (trx) => previewRetention(trx, scope, days));
  expect(await preview(45)).toEqual({ count: 2, oldestAt: expect.any(Date) });
  const age = Date.now() - ((await preview(45)).oldestAt?.getTime() ?? 0);
  expect(Math.round(age / 86_400_000)).toBe(300);
  expect(await preview(301)).toEqual({ count: 0, oldestAt: null });
});
