import { randomUUID } from "node:crypto";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import { isSerializationFailure } from "@latchkey/db/sqlstate";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { connectAsAdmission } from "../admission/connect.test-kit.ts";
import { sessionSettings } from "../admission/session-settings.ts";
import { addUseRows, countUses } from "./count-statement.ts";
import type { Counter } from "./decide-verification.ts";

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  const settings = sessionSettings.filter((setting) => !setting.startsWith("lock_timeout"));
  client = await connectAsAdmission(database.connection, settings);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function connectForTest(): Promise<pg.Client> {
  const own = new pg.Client(testClientConfig(database.connection, "test"));
  await own.connect();
  onTestFinished(() => own.end());
  return own;
}

const always = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

const useOf = (id: IssuedKeyId, uses: number): Counter => ({
  id,
  version: 1,
  uses,
  isSecretUsed: false,
  meters: { windows: new Map(), balance: null },
  isChanged: uses > 0,
});

async function execute(text: string, values: readonly unknown[]): Promise<void> {
  const owner = await connectForTest();
  await owner.query(text, [...values]);
}

async function readNow(): Promise<number> {
  const { rows } = await client.query<{ now: number }>(
    "select date_part('epoch', clock_timestamp()) * 1000 as now",
  );
  return rows[0]?.now ?? 0;
}

describe.each(["key_counters", "issued_key_uses"] as const)("in rows of %s:", (table) => {
  /** Adds keys in use with version 1, in the order of their IDs. */
  async function addKeys(count: number): Promise<IssuedKeyId[]> {
    const ids = Array.from({ length: count }, () => randomUUID() as string as IssuedKeyId).sort();
    await database.owner
      .insertInto("key_counters")
      .values(ids.map((key_id) => ({ key_id })))
      .execute();
    if (table === "issued_key_uses")
      await addUseRows(
        client,
        ids.map((id) => useOf(id, 1)),
      );
    return ids;
  }

  async function readUses(ids: readonly IssuedKeyId[]): Promise<number[]> {
    const { rows } = await client.query<{ uses: number }>(
      `select (counter.use_count + coalesce(uses.use_count, 0))::integer as uses
     from key_counters counter left join issued_key_uses uses using (key_id)
     where key_id = any($1) order by key_id`,
      [ids],
    );
    return rows.map(({ uses }) => uses);
  }

  type Batch = Omit<Parameters<typeof countUses>[1], "apiKeys">;

  const count = (batch: Batch) =>
    countUses(client, {
      ...batch,
      apiKeys: new Set(table === "key_counters" ? batch.counters.map(({ id }) => id) : []),
    });

  /** Whether the statement counted the batch. @throws any error other than that the batch is outdated. */
  async function isCounted(batch: Batch): Promise<boolean> {
    try {
      await count(batch);
      return true;
    } catch (error) {
      if (isSerializationFailure(error)) return false;
      throw error;
    }
  }

  test("adds the uses of each key, and returns the database's time", async () => {
    const [one = "" as IssuedKeyId, two = "" as IssuedKeyId, checked = "" as IssuedKeyId] = await addKeys(3);
    const before = await readNow();
    const counters = [useOf(two, 7), useOf(one, 1), useOf(checked, 0)];
    const now = await count({ counters, owners: [], validity: always });
    expect(await readUses([one, two, checked])).toEqual([1, 7, 0]);
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(await readNow());
    const rows = await database.owner
      .selectFrom(table)
      .select(["key_id", "last_used_at"])
      .where("key_id", "in", [one, two, checked])
      .orderBy("key_id")
      .execute();
    expect(rows.map(({ last_used_at }) => last_used_at !== null)).toEqual([true, true, false]);
  });

  test("doesn't move the last use back if the clock is set back", async () => {
    const [id = "" as IssuedKeyId] = await addKeys(1);
    const last_used_at = new Date("2999-01-01T00:00:00Z");
    await database.owner.updateTable(table).set({ last_used_at }).where("key_id", "=", id).execute();
    expect(await isCounted({ counters: [useOf(id, 1)], owners: [], validity: always })).toBe(true);
    const row = await database.owner
      .selectFrom(table)
      .select("last_used_at")
      .where("key_id", "=", id)
      .executeTakeFirstOrThrow();
    expect(row.last_used_at).toEqual(last_used_at);
  });

  describe("counts nothing if one assumption is wrong:", () => {
    const owner = { id: randomUUID() as string as KeyspaceId, version: 3 };
    beforeAll(() =>
      database.owner.insertInto("owner_versions").values({ owner_id: owner.id, version: 3 }).execute(),
    );
    const unknownOwner = { id: randomUUID() as string as KeyspaceId, version: 0 };
    const changeVersion = "update key_counters set version = 2 where key_id = $1";
    const addCredits = "update key_counters set credits = 5 where key_id = $1";

    test.each<[string, string, "counted" | "checked"]>([
      ["the version of a counted key", changeVersion, "counted"],
      ["the version of a key without uses", changeVersion, "checked"],
      ["the row of a counted key", `delete from ${table} where key_id = $1`, "counted"],
      ["the row of a key without uses", "delete from key_counters where key_id = $1", "checked"],
      ["that a counted key has no credits", addCredits, "counted"],
      ["that a key without uses has no credits", addCredits, "checked"],
    ])("%s", async (_what, change, role) => {
      const [one = "" as IssuedKeyId, two = "" as IssuedKeyId, three = "" as IssuedKeyId] = await addKeys(3);
      const batch = {
        counters: [useOf(one, 1), useOf(two, role === "counted" ? 1 : 0), useOf(three, 1)],
        owners: [owner, unknownOwner],
        validity: always,
      };
      expect(await isCounted(batch)).toBe(true);
      await execute(change, [two]);
      expect(await isCounted(batch)).toBe(false);
      expect(await readUses([one, three])).toEqual([1, 1]);
    });

    test.each([
      ["the version of an owner", { ...owner, version: 2 }],
      ["that an owner has no version", { ...owner, version: 0 }],
      ["that an owner without a version has one", { ...unknownOwner, version: 1 }],
    ])("%s", async (_what, changed) => {
      const ids = await addKeys(2);
      const batch = { counters: ids.map((id) => useOf(id, 1)), owners: [owner, changed], validity: always };
      expect(await isCounted(batch)).toBe(false);
      expect(await readUses(ids)).toEqual([0, 0]);
      expect(await isCounted({ ...batch, owners: [owner, unknownOwner] })).toBe(true);
    });

    test.each([
      ["the time is not too early", (now: number) => ({ ...always, from: now + 60_000 }), false],
      ["the time is not too late", (now: number) => ({ ...always, until: now }), false],
      [
        "or counts everything, if the time is right",
        (now: number) => ({ from: now, until: now + 60_000 }),
        true,
      ],
    ])("%s", async (_what, toValidity, expected) => {
      const ids = await addKeys(1);
      const batch = {
        counters: ids.map((id) => useOf(id, 1)),
        owners: [],
        validity: toValidity(await readNow()),
      };
      expect(await isCounted(batch)).toBe(expected);
      expect(await readUses(ids)).toEqual([expected ? 1 : 0]);
    });
  });

  /** Starts to count keys of which another transaction has locked one, and waits until the statement waits for it. */
  async function waitForCounter(ids: readonly IssuedKeyId[], held: IssuedKeyId) {
    const [blocker, observer] = [await connectForTest(), await connectForTest()];
    await blocker.query("begin");
    await blocker.query(`select from ${table} where key_id = $1 for update`, [held]);
    const counted = isCounted({
      counters: ids.map((id) => useOf(id, 1)).reverse(),
      owners: [],
      validity: always,
    });
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    return { blocker, observer, counted };
  }

  test("locks the rows in the order of their keys", async () => {
    const ids = await addKeys(3);
    const [first = "" as IssuedKeyId, middle = "" as IssuedKeyId, last = "" as IssuedKeyId] = ids;
    const { blocker, observer, counted } = await waitForCounter(ids, middle);
    const free = `select key_id from ${table} where key_id = any($1) for update skip locked`;
    const { rows } = await observer.query(free, [[first, last]]);
    await blocker.query("commit");
    expect(rows).toEqual([{ key_id: last }]);
    expect(await counted).toBe(true);
  });

  test("counts nothing if a key changes while the statement waits for it", async () => {
    const ids = await addKeys(3);
    const [, middle = "" as IssuedKeyId] = ids;
    const { blocker, counted } = await waitForCounter(ids, middle);
    await blocker.query("update key_counters set version = version + 1 where key_id = $1", [middle]);
    await blocker.query("commit");
    expect(await counted).toBe(false);
    expect(await readUses(ids)).toEqual([0, 0, 0]);
  });

  test("adds to what another transaction has counted while the statement waits for it", async () => {
    const ids = await addKeys(2);
    const [first = "" as IssuedKeyId] = ids;
    const { blocker, counted } = await waitForCounter(ids, first);
    await blocker.query(`update ${table} set use_count = use_count + 5 where key_id = $1`, [first]);
    await blocker.query("commit");
    expect(await counted).toBe(true);
    expect(await readUses(ids)).toEqual([6, 1]);
  });
});

test("locks the counters of API keys before the rows of issued keys, and adding rows doesn't wait for these", async () => {
  const [apiKey, issuedKey] = [randomUUID(), randomUUID()] as unknown as [IssuedKeyId, IssuedKeyId];
  await database.owner
    .insertInto("key_counters")
    .values([{ key_id: apiKey }, { key_id: issuedKey }])
    .execute();
  await addUseRows(client, [useOf(issuedKey, 1)]);
  const [blocker, observer] = [await connectForTest(), await connectForTest()];
  await blocker.query("begin");
  await blocker.query("update issued_key_uses set use_count = 5 where key_id = $1", [issuedKey]);
  const counted = countUses(client, {
    counters: [useOf(issuedKey, 1), useOf(apiKey, 1)],
    apiKeys: new Set([apiKey]),
    owners: [],
    validity: always,
  });
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  const { rowCount } = await observer.query(
    "select from key_counters where key_id = $1 for update skip locked",
    [apiKey],
  );
  await addUseRows(observer, [useOf(issuedKey, 1)]);
  await blocker.query("commit");
  await counted;
  expect(rowCount).toBe(0);
  const { rows } = await observer.query(
    "select use_count::integer as uses from issued_key_uses where key_id = $1",
    [issuedKey],
  );
  expect(rows).toEqual([{ uses: 6 }]);
});
