import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createId, type IssuedKeyId, type UserId } from "./ids.ts";
import { listIssuedKeyEvents, maxIssuedKeyEvents } from "./issued-key-events.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
let userId: UserId;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  await database.db.transaction().execute(async (trx) => {
    const user = { email: "ada@example.com", name: "Ada", passwordHash: "hash" };
    userId = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Team", slug: "team", ownerId: userId });
    scope = made?.scope as WorkspaceScope; // No workspace has this slug.
  });
});
afterAll(() => database.drop());

interface NewEvents {
  readonly id: IssuedKeyId;
  readonly action: string;
  readonly before?: object;
  readonly after?: object;
  readonly count?: number;
  /** Of the newest of them. */
  readonly minutesAgo: number;
}

async function add({ id, action, before, after, count = 1, minutesAgo }: NewEvents): Promise<void> {
  const toJson = (details: object | undefined) => (details ? JSON.stringify(details) : null);
  await sql`
    insert into audit_events
      (workspace_id, id, occurred_at, action, actor_kind, actor_user_id, target_kind, target_id, before, after)
    select ${scope.workspaceId}, gen_random_uuid(), now() - (${minutesAgo}::integer + n) * interval '1 minute',
      ${action}, 'session', ${userId}, 'issued-key', ${id}, ${toJson(before)}::jsonb, ${toJson(after)}::jsonb
    from generate_series(0, ${count - 1}::integer) n`.execute(database.owner);
}

function list(id: IssuedKeyId, hasCredits = false) {
  return inWorkspace(database.db, scope, (trx) => listIssuedKeyEvents(trx, scope, { id, hasCredits }));
}

test("lists the changes to one key, newest first, with the name of the actor", async () => {
  const [id, other] = [createId("issuedKey"), createId("issuedKey")];
  await add({ id, action: "issued-key.created", after: { name: "Acme", credits: null }, minutesAgo: 9 });
  await add({ id: other, action: "issued-key.created", minutesAgo: 5 });
  await add({ id, action: "issued-key.disabled", after: { name: "Acme" }, minutesAgo: 1 });
  expect(await list(id)).toMatchObject([
    { action: "issued-key.disabled", actorName: "Ada", actorUserKind: "person", after: { name: "Acme" } },
    { action: "issued-key.created", actorKind: "session", before: null },
  ]);
});

test("lists only the changes of credits: issued with, edited, removed, set, added and subtracted", async () => {
  const id = createId("issuedKey");
  await add({ id, action: "issued-key.created", after: { credits: "5" }, minutesAgo: 9 });
  const edit = { id, action: "issued-key.changed" };
  await add({ ...edit, before: { credits: "5" }, after: { credits: "7" }, minutesAgo: 8 });
  await add({ ...edit, before: { permissions: null }, after: { permissions: "a" }, minutesAgo: 7 });
  await add({ ...edit, before: { credits: "7" }, after: { credits: null }, minutesAgo: 6 });
  const change = { id, action: "issued-key.credits-changed" };
  await add({ ...change, before: { credits: null }, after: { credits: 1 }, minutesAgo: 5 });
  await add({ id, action: "issued-key.disabled", after: { name: "Acme" }, minutesAgo: 4 });
  expect((await list(id, true)).map(({ after }) => after?.credits)).toEqual([1, null, "7", "5"]);
  const unlimited = createId("issuedKey");
  await add({ id: unlimited, action: "issued-key.created", after: { credits: null }, minutesAgo: 1 });
  expect(await list(unlimited, true)).toEqual([]);
});

test("reads a bounded number of the changes to a key, by an index", async () => {
  const id = createId("issuedKey");
  const change = { id, action: "issued-key.credits-changed", before: { credits: 1 }, after: { credits: 2 } };
  // The last of the examined ones, and the first that isn't examined.
  await add({ ...change, count: 2, minutesAgo: 999 });
  await add({ id, action: "issued-key.rotated", count: 999, minutesAgo: 0 });
  await add({ id, action: "issued-key.rotated", count: 9_000, minutesAgo: 2_000 });
  // Newer events about another key.
  const other = { id: createId("issuedKey"), action: "issued-key.rotated" };
  await add({ ...other, count: 3_000, minutesAgo: -3_000 });
  await sql`analyze audit_events`.execute(database.owner);
  const measure = (hasCredits: boolean) =>
    inWorkspace(database.db, scope, async (trx) => {
      const { result, rows } = await countReads(trx, ["audit_events"], () =>
        listIssuedKeyEvents(trx, scope, { id, hasCredits }),
      );
      return { shown: result.length, read: rows };
    });
  expect(await measure(false)).toEqual({ shown: maxIssuedKeyEvents, read: maxIssuedKeyEvents });
  expect(await measure(true)).toEqual({ shown: 1, read: 1_000 });
});
