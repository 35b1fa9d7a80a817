import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

test.each([
  ["action", "audit_events_by_action"],
  ["actor_user_id", "audit_events_by_actor"],
  ["target_id", "audit_events_by_target"],
])("the events with one %s are found by an index", async (column, index) => {
  const { scope, userId } = await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const id = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId: id });
    return { scope: made?.scope as WorkspaceScope, userId: id }; // No workspace has this slug.
  });
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
