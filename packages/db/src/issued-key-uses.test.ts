import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { findConsumer, findOrCreateConsumer } from "./consumers.ts";
import type { IssuedKeyId } from "./ids.ts";
import { addKey, addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { listIssuedKeys } from "./issued-keys.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

interface Uses {
  readonly count: number;
  readonly last: string | null;
}

async function use(id: IssuedKeyId, { counter, row }: { counter: Uses; row?: Uses }): Promise<void> {
  await sql`
    update key_counters set use_count = ${counter.count}, last_used_at = ${counter.last} where key_id = ${id}`.execute(
    database.owner,
  );
  if (row)
    await sql`
      insert into issued_key_uses (key_id, version, use_count, last_used_at)
      values (${id}, 1, ${row.count}, ${row.last})`.execute(database.owner);
}

test("the uses of keys and consumers are those of the counters and of the rows, each of which is read once", async () => {
  const scope = await addWorkspace(database.db);
  const keyspaceId = await addKeyspace(database.db, scope);
  const externalId = "acme";
  const work = <Result>(run: (trx: WorkspaceTrx) => Promise<Result>) => inWorkspace(database.db, scope, run);
  const ids = await work(async (trx) => {
    const consumerId = await findOrCreateConsumer(trx, scope, { keyspaceId, externalId });
    const add = () => addKey(trx, scope, { keyspaceId, consumerId });
    return [await add(), await add(), await add(), await add()] as const;
  });
  const [earlier, later] = ["2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"];
  await use(ids[0], { counter: { count: 1, last: earlier }, row: { count: 5, last: later } });
  await use(ids[1], { counter: { count: 2, last: later }, row: { count: 3, last: earlier } });
  await use(ids[2], { counter: { count: 0, last: null }, row: { count: 0, last: null } });
  await use(ids[3], { counter: { count: 7, last: earlier } });
  const page = { keyspaceId, sort: "createdAt", direction: "asc", limit: 10, filter: {} } as const;
  const keys = await work((trx) =>
    countReads(trx, ["issued_key_uses"], () => listIssuedKeys(trx, scope, page)),
  );
  const byId = new Map(
    keys.result.rows.map(({ id, usageCount, lastUsedAt }) => [
      id,
      [usageCount, lastUsedAt?.toISOString() ?? null],
    ]),
  );
  expect(ids.map((id) => byId.get(id))).toEqual([
    [6, later],
    [5, later],
    [0, null],
    [7, earlier],
  ]);
  const consumer = await work((trx) =>
    countReads(trx, ["issued_key_uses"], () => findConsumer(trx, scope, { keyspaceId, externalId })),
  );
  expect(consumer.result).toMatchObject({ usageCount: 18, lastUsedAt: new Date(later) });
  expect([keys.rows, consumer.rows]).toEqual([3, 3]);
});
