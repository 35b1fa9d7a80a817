import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import type { KeyId, UserId } from "./ids.ts";
import { bumpKeyVersions, insertKeyCounter, lockCountersOf } from "./key-counters.ts";
import { defaultSettings } from "./key-settings.ts";
import type { Trx } from "./schema.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addUser(): Promise<UserId> {
  const user = { email: `${randomUUID()}@example.com`, name: "Somebody", passwordHash: "hash" };
  return (await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user))) as UserId; // No account has this email address.
}

async function addKey(userId: UserId): Promise<KeyId> {
  const key = {
    userId,
    name: "key",
    description: "",
    start: "lk_abcdef",
    hash: randomBytes(32),
    settings: defaultSettings,
  };
  return (await database.db.transaction().execute((trx) => insertApiKey(trx, key))) as KeyId; // The user is not disabled.
}

/** A connection with an open transaction, which ends with the test. */
async function begin(): Promise<pg.Client> {
  const client = new pg.Client(testClientConfig(database.connection, "another transaction"));
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  return client;
}

const orders: [string, (trx: Trx, keys: { userId: UserId; keyIds: readonly KeyId[] }) => Promise<void>][] = [
  ["change", (trx, { keyIds }) => bumpKeyVersions(trx, { keyIds: keyIds.toReversed() })],
  [
    "deletion",
    (trx, { userId }) => lockCountersOf(trx, trx.selectFrom("users").select("id").where("id", "=", userId)),
  ],
];

test.each(orders)(
  "a %s locks the rows of keys in the order of their keys, as admission locks them",
  async (_, lock) => {
    const userId = await addUser();
    const keyIds = (await Promise.all(Array.from({ length: 20 }, () => addKey(userId)))).sort();
    const middle = 10;
    // Without a sort, a table scan then finds the rows in the opposite order.
    await database.owner.deleteFrom("key_counters").where("key_id", "in", keyIds).execute();
    for (const id of keyIds.toReversed())
      await database.db.transaction().execute((trx) => insertKeyCounter(trx, id));
    const blocker = await begin();
    await blocker.query("select from key_counters where key_id = $1 for update", [keyIds[middle]]);
    const locking = database.db.transaction().execute((trx) => lock(trx, { userId, keyIds }));
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    const { rows } = await blocker.query<{ key_id: KeyId }>(
      "select key_id from key_counters where key_id = any($1::uuid[]) for update skip locked",
      [keyIds],
    );
    expect(rows.map(({ key_id }) => key_id).sort()).toEqual(keyIds.slice(middle));
    await blocker.query("commit");
    await locking;
  },
);
