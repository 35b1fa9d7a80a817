// What the overview of a workspace reads about its issued keys.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { countReads } from "@latchkey/db/testing/count-reads";
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
  const query = { buckets: { starts: [from], to }, limit: 5 };
  const { result, rows } = await inWorkspace(app.services.readDb, scope, (trx) =>
    countReads(trx, ["keyspace_usage_hours"], () => readWorkspaceVerifications(trx, scope, query)),
  );
  expect(result?.usage).toEqual([
    { startsAt: from, outcome: "VALID", count: hourCount * (keyspaceCount + 1) },
  ]);
  expect(rows).toBe(hourCount);
});
