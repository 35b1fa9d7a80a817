import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createFairPurge } from "./fair-purge.ts";
import type { WorkspaceId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import { Purger } from "./purger.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

/** Creates a purge of workspaces with these numbers of rows, of which `purge` deletes `limit`. */
function createPurge(
  rows: Map<WorkspaceId, number>,
  onPurge: (workspaceId: WorkspaceId) => void,
): DeleteBatch {
  return createFairPurge({
    listWorkspaces: async (_trx, { after = "", limit }) =>
      [...rows.keys()]
        .filter((id) => id > after && rows.get(id) !== 0)
        .sort()
        .slice(0, limit),
    async purge(_trx, { workspaceId }, limit) {
      onPurge(workspaceId);
      const stored = rows.get(workspaceId) ?? 0;
      rows.set(workspaceId, stored - Math.min(stored, limit));
      return Math.min(stored, limit);
    },
  });
}

function createIds(count: number): readonly [WorkspaceId, ...WorkspaceId[]] {
  const [first, ...others] = Array.from({ length: count }, () => randomUUID() as WorkspaceId).sort();
  if (!first) throw new Error("At least one workspace is needed.");
  return [first, ...others];
}

/** Runs one round of one rule. @returns what it reported. */
async function runRound(deleteBatch: DeleteBatch): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  const purger = new Purger({
    connection: database.connection,
    rules: [{ name: "rows", deleteBatch }],
    onFailure: (error) => failures.push(error),
  });
  await purger.run();
  await purger.close();
  return failures;
}

test("workspaces that can't be purged are tried once per round, and don't delay the others", async () => {
  const [bad, worse, ...good] = createIds(60);
  const rows = new Map([bad, worse, ...good].map((id) => [id as WorkspaceId, 30]));
  const tried: string[] = [];
  const deleteBatch = createPurge(rows, (id) => {
    if (id !== bad && id !== worse) return;
    tried.push(id);
    throw new Error(`${id} can't be purged.`);
  });
  // 58 workspaces with 30 rows take four steps of 500 rows.
  expect(await runRound(deleteBatch)).toMatchObject([
    {
      message: "Workspaces that couldn't be purged: 2.",
      errors: [{ message: /can't/ }, { message: /can't/ }],
    },
  ]);
  expect(good.map((id) => rows.get(id))).toEqual(good.map(() => 0));
  expect(tried.sort()).toEqual([bad, worse]);
  await runRound(deleteBatch);
  expect(tried).toHaveLength(4);
});

test("a workspace is purged in one round although more can't be purged than are listed at once", async () => {
  const ids = createIds(101);
  const good = ids[100] as WorkspaceId;
  const rows = new Map(ids.map((id) => [id, 1_100]));
  const deleteBatch = createPurge(rows, (id) => {
    if (id !== good) throw new Error("It can't be purged.");
  });
  expect(await runRound(deleteBatch)).toMatchObject([
    { message: "Workspaces that couldn't be purged: 100." },
  ]);
  expect(rows.get(good)).toBe(0);
});

test("an outage of the database ends the rule, whatever workspace it interrupts", async () => {
  const ids = createIds(3);
  const tried: string[] = [];
  const deleteBatch = createPurge(new Map(ids.map((id) => [id, 1])), (id) => {
    tried.push(id);
    throw new Error("Connection terminated unexpectedly");
  });
  expect(await runRound(deleteBatch)).toMatchObject([{ message: "Connection terminated unexpectedly" }]);
  expect(tried).toEqual([ids[0]]);
});

test("a step ends after the workspace in progress when the purger closes", async () => {
  const ids = createIds(3);
  const tried: string[] = [];
  const deleteBatch = createPurge(new Map(ids.map((id) => [id, 1])), (id) => {
    tried.push(id);
    void purger.close();
  });
  const purger = new Purger({ connection: database.connection, rules: [{ name: "rows", deleteBatch }] });
  await purger.run();
  expect(tried).toEqual([ids[0]]);
});
