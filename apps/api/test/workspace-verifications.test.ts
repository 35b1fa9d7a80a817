// What the overview of a workspace reads about its issued keys.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWorkspaceVerifications } from "../src/domain/workspace-verifications.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const keyspaceCount = 40;
const hourCount = 50;
const from = new Date("2026-03-01T00:00:00Z");
const to = new Date(from.getTime() + hourCount * 3_600_000);

/** Adds a workspace whose keyspaces were used in each hour, and one that was deleted since. */
async function addUsedWorkspace(): Promise<WorkspaceId> {
  const id = createId("workspace");
  await sql`insert into workspaces (id, name, slug) values (${id}, 'Acme', ${id})`.execute(app.owner);
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    select ${id}, gen_random_uuid(), 'Production', 'acme' from generate_series(1, ${keyspaceCount}::integer)`.execute(
    app.owner,
  );
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select ${id}::uuid, used.subject, ${from}::timestamptz + make_interval(hours => hour), 'VALID', used.count
    from (
      select id as subject, 1 as count from keyspaces where workspace_id = ${id}
      union all select ${id}::uuid, ${keyspaceCount}::integer + 1
    ) used
    cross join generate_series(0, ${hourCount}::integer - 1) hour`.execute(app.owner);
  await sql`analyze keyspace_usage_hours`.execute(app.owner);
  return id;
}

test("includes deleted keyspaces, and reads one row per hour and outcome, however many keyspaces there are", async () => {
  const scope = openAsOperator(await addUsedWorkspace());
  const { usage, read } = await app.services.readDb.connection().execute((db) =>
    inWorkspace(db, scope, async (trx) => {
      const countRead = async () => {
        const { rows } = await sql<{ count: number }>`
          select (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as count from pg_stat_xact_user_tables
          where relname = 'keyspace_usage_hours'`.execute(trx);
        return rows[0]?.count ?? 0;
      };
      const before = await countRead();
      const buckets = { starts: [from], to };
      const verifications = await readWorkspaceVerifications(trx, scope, { buckets, limit: 5 });
      return { usage: verifications?.usage, read: (await countRead()) - before };
    }),
  );
  expect(usage).toEqual([{ startsAt: from, outcome: "VALID", count: hourCount * (keyspaceCount + 1) }]);
  expect(read).toBe(hourCount);
});
