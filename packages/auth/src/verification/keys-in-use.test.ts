import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { codesOf, type TestIssuedKey, verificationOf, verifierKit } from "./verifier.test-kit.ts";

let database: TestDatabase;
const { addKeyspace, execute, issueKey, openNode, readCounter } = verifierKit(() => database);
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  // Records which statement counted each use. Of these statements, only the one that locks no counters first calls this function.
  await execute(sql`
    create table counted (position bigint generated always as identity, key_id uuid, is_locked boolean)`);
  await execute(sql`
    create function note_count() returns trigger language plpgsql security definer set search_path = public as $$
    begin
      insert into counted (key_id, is_locked) values (new.key_id, current_query() not like '%reject_outdated_batch%');
      return null;
    end $$`);
  await execute(sql`
    create trigger note_count after update of use_count on key_counters
    for each row execute function note_count()`);
  await execute(sql`
    create trigger note_count after update of use_count on issued_key_uses
    for each row execute function note_count()`);
});
afterAll(() => database.drop());

/** For each use of a key, whether its counter was locked before the use was counted. */
async function readCounts({ id }: Pick<TestIssuedKey, "id">): Promise<boolean[]> {
  const { rows } = await execute(
    sql<{ is_locked: boolean }>`select is_locked from counted where key_id = ${id} order by position`,
  );
  return rows.map(({ is_locked }) => is_locked);
}

test("after the first use of a key, its uses are counted in a row of their own, in one statement", async () => {
  const place = await addKeyspace();
  const [warm, key] = [await issueKey(place), await issueKey(place, { isInUse: false })];
  const node = openNode();
  const verify = (verified: TestIssuedKey) =>
    node.verify(place.caller.secret, {
      address: undefined,
      verifications: [verificationOf(verified)],
      name: undefined,
    });
  // The first batch tells the node the time, without which it counts nothing by assumption.
  for (const verified of [warm, key, key, key]) await verify(verified);
  expect(await readCounts(warm)).toEqual([true]);
  expect(await readCounts(key)).toEqual([true, false, false]);
  expect(await readCounter(key.id)).toMatchObject({ uses: 3, isInUse: true });
});

test("a verification that is rejected or has cost 0 adds no row", async () => {
  const place = await addKeyspace();
  const [free, spent] = [
    await issueKey(place, { isInUse: false }),
    await issueKey(place, { isInUse: false, credits: 0 }),
  ];
  const verifications = [verificationOf(free, { cost: 0 }), verificationOf(spent)];
  const { outcome } = await openNode().verify(place.caller.secret, {
    address: undefined,
    verifications,
    name: undefined,
  });
  expect(outcome).toMatchObject({ results: [{ code: "VALID" }, { code: "USAGE_EXCEEDED" }] });
  for (const { id } of [free, spent])
    expect(await readCounter(id)).toMatchObject({ uses: 0, isInUse: false });
});

describe("a key that has changed is looked up before its next use, which isn't lost:", () => {
  test.each([
    ["another version", "update key_counters set version = version + 1 where key_id = $1", { uses: 3 }],
    ["a balance", "update key_counters set credits = 5 where key_id = $1", { uses: 3, credits: 4 }],
  ])("%s", async (_what, change, expected) => {
    const place = await addKeyspace();
    const key = await issueKey(place, { isInUse: false });
    const node = openNode();
    const verify = async () =>
      codesOf(
        await node.verify(place.caller.secret, {
          address: undefined,
          verifications: [verificationOf(key)],
          name: undefined,
        }),
      );
    for (let use = 0; use < 2; use += 1) expect(await verify()).toEqual(["VALID"]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, isInUse: true });
    await execute(sql.raw(change.replace("$1", `'${key.id}'`)));
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, isInUse: false });
    expect(await verify()).toEqual(["VALID"]);
    expect(await readCounter(key.id)).toMatchObject(expected);
  });
});

test("a balance that is set before the first use is spent, although the node remembers none", async () => {
  const place = await addKeyspace();
  const key = await issueKey(place, { isInUse: false });
  const node = openNode();
  const verify = async (cost: number) =>
    codesOf(
      await node.verify(place.caller.secret, {
        address: undefined,
        verifications: [verificationOf(key, { cost })],
        name: undefined,
      }),
    );
  expect(await verify(0)).toEqual(["VALID"]);
  await execute(sql`update key_counters set credits = 2 where key_id = ${key.id}`);
  expect([await verify(1), await verify(1), await verify(1)]).toEqual([
    ["VALID"],
    ["VALID"],
    ["USAGE_EXCEEDED"],
  ]);
  expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: 0, isInUse: false });
});

test("the row of a key is deleted with its counter", async () => {
  const key = await issueKey(await addKeyspace());
  await execute(sql`delete from key_counters where key_id = ${key.id}`);
  const { rows } = await execute(sql`select from issued_key_uses where key_id = ${key.id}`);
  expect(rows).toEqual([]);
});
