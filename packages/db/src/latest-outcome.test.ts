import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createId } from "./ids.ts";
import { findLatestOutcome } from "./latest-outcome.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const scope = mintWorkspaceScope(createId("workspace"));
const keyspaceId = createId("keyspace");

async function add(outcomes: readonly string[], hoursAgo: readonly number[], subjectId: string = keyspaceId) {
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select ${scope.workspaceId}, ${subjectId}, date_trunc('hour', now()) - make_interval(hours => ago), outcome, 1
    from unnest(${outcomes}::text[]) outcome, unnest(${hoursAgo}::integer[]) ago`.execute(database.owner);
}

function find(as = scope) {
  return inWorkspace(database.db, as, (trx) =>
    findLatestOutcome(trx, scope, { id: keyspaceId, keyCount: 1 }),
  );
}

test("is that of the latest hour, and VALID if that hour has several", async () => {
  expect(await find()).toBeUndefined();
  await add(["VALID"], [9], createId("keyspace"));
  expect(await find()).toBeUndefined();
  await add(["VALID"], [8]);
  await add(["EXPIRED"], [7]);
  expect(await find()).toBe("EXPIRED");
  await add(["VALID", "RATE_LIMITED"], [7]);
  expect(await find()).toBe("VALID");
  expect(await find(mintWorkspaceScope(createId("workspace")))).toBeUndefined();
});

test("is VALID if a key was used before the time that the history covers", async () => {
  const dormant = { id: createId("keyspace"), keyCount: 2 };
  const findDormant = () => inWorkspace(database.db, scope, (trx) => findLatestOutcome(trx, scope, dormant));
  const { rows } = await sql<{ id: string }>`
    insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
    select ${scope.workspaceId}, ${dormant.id}, uuidv7(), sha256(start::bytea), start
    from unnest(array['acme_1', 'acme_2']) start
    returning id`.execute(database.owner);
  const ids = rows.map(({ id }) => id);
  await sql`insert into key_counters (key_id) select unnest(${ids}::uuid[])`.execute(database.owner);
  expect(await findDormant()).toBeUndefined();
  const use = (at: string) =>
    sql`update key_counters set last_used_at = ${at} where key_id = ${ids[0]}`.execute(database.owner);
  await use("now");
  expect(await findDormant()).toBeUndefined();
  await use("2020-01-01");
  expect(await findDormant()).toBe("VALID");
  await add(["EXPIRED"], [7], dormant.id);
  expect(await findDormant()).toBe("EXPIRED");
});

test("reads one row by an index, however many hours there are", async () => {
  await add(
    ["CHECKED", "DISABLED"],
    Array.from({ length: 2_000 }, (_, ago) => ago),
  );
  await sql`analyze keyspace_usage_hours`.execute(database.owner);
  const { result, scans, rows } = await inWorkspace(database.db, scope, (trx) =>
    countReads(trx, ["keyspace_usage_hours"], () =>
      findLatestOutcome(trx, scope, { id: keyspaceId, keyCount: 1 }),
    ),
  );
  expect(result).toBe("DISABLED");
  expect(scans).toBe(0);
  expect(rows).toBeLessThanOrEqual(1);
});
