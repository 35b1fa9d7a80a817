import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createId, type UserId } from "./ids.ts";
import { bumpOwnerVersions } from "./owner-versions.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function bump(...userIds: readonly UserId[]): Promise<void> {
  await database.db.transaction().execute((trx) => bumpOwnerVersions(trx, userIds));
}

async function readVersions(ids: readonly UserId[]): Promise<(number | undefined)[]> {
  const rows = await database.owner
    .selectFrom("owner_versions")
    .selectAll()
    .where("owner_id", "in", ids)
    .execute();
  const versions = new Map(rows.map(({ owner_id, version }) => [owner_id, version]));
  return ids.map((id) => versions.get(id));
}

test("an owner without a row has version 0, and each change increments it", async () => {
  const ids = [createId("user"), createId("user"), createId("user")] as const;
  await bump(ids[0]);
  expect(await readVersions(ids)).toEqual([1, undefined, undefined]);
  await bump(ids[1], ids[0]);
  expect(await readVersions(ids)).toEqual([2, 1, undefined]);
  // A list can name an owner twice.
  await bump(ids[2], ids[2]);
  await bump();
  expect(await readVersions(ids)).toEqual([2, 1, 1]);
});

test("concurrent changes to the same owners count both, and lock the rows in one order", async () => {
  const ids = Array.from({ length: 20 }, () => createId("user")).sort();
  await bump(...ids);
  const middle = 10;
  const blocker = new pg.Client(testClientConfig(database.connection, "another transaction"));
  await blocker.connect();
  onTestFinished(() => blocker.end());
  await blocker.query("begin");
  await blocker.query("select from owner_versions where owner_id = $1 for update", [ids[middle]]);
  const bumping = bump(...ids.toReversed());
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  const { rows } = await blocker.query<{ owner_id: UserId }>(
    "select owner_id from owner_versions where owner_id = any($1::uuid[]) for update skip locked",
    [ids],
  );
  expect(rows.map(({ owner_id }) => owner_id).sort()).toEqual(ids.slice(middle));
  await blocker.query("update owner_versions set version = version + 1 where owner_id = $1", [ids[middle]]);
  await blocker.query("commit");
  await bumping;
  expect(await readVersions(ids)).toEqual(ids.map((_id, index) => (index === middle ? 3 : 2)));
});
