import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import type { KeyId, UserId } from "./ids.ts";
import { Purger } from "./purger.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";

let database: TestDatabase;
let userId: UserId;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  const user = { email: "ada@example.com", name: "Ada", passwordHash: "" };
  const id = await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user));
  userId = id as UserId; // No account has this email address.
});
afterAll(() => database.drop());

/** Adds a key that was deleted this many days ago, or is live, with old secrets. */
async function addKey({ deletedDaysAgo = -1, formerSecrets = 0 } = {}): Promise<KeyId> {
  const key = { userId, name: randomUUID(), description: "", start: "lk_abcdef", hash: randomBytes(32) };
  const id = await database.db.transaction().execute((trx) => insertApiKey(trx, key));
  if (!id) throw new Error("The user is disabled.");
  if (deletedDaysAgo >= 0)
    await sql`
      update api_keys set deleted_at = now() - make_interval(days => ${deletedDaysAgo}) where id = ${id}`.execute(
      database.owner,
    );
  await sql`
    insert into retired_secrets (hash, key_id, start, good_until)
    select sha256(gen_random_uuid()::text::bytea), ${id}, '', now() from generate_series(1, ${formerSecrets})`.execute(
    database.owner,
  );
  return id;
}

/** Counts the rows of keys in `api_keys`, `key_counters` and `retired_secrets`. */
async function countRows(...ids: readonly KeyId[]): Promise<readonly number[]> {
  const { rows } = await sql<{ keys: number; counters: number; secrets: number }>`
    select
      (select count(*) from api_keys where id = any(${ids}::uuid[])) as keys,
      (select count(*) from key_counters where key_id = any(${ids}::uuid[])) as counters,
      (select count(*) from retired_secrets where key_id = any(${ids}::uuid[])) as secrets`.execute(
    database.owner,
  );
  return Object.values(rows[0] ?? {});
}

async function purge(): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  const { connection } = database;
  const purger = new Purger({ connection, historyDays: 30, onFailure: (error) => failures.push(error) });
  await purger.run();
  await purger.close();
  return failures;
}

test("a deleted key is purged with its counter and old secrets when its history is purged, and a live key never is", async () => {
  const purged = await addKey({ deletedDaysAgo: 30, formerSecrets: 3 });
  const recent = await addKey({ deletedDaysAgo: 29, formerSecrets: 2 });
  const live = await addKey({ formerSecrets: 1 });
  await sql`update api_keys set created_at = now() - interval '10 years', updated_at = created_at`.execute(
    database.owner,
  );
  expect(await purge()).toEqual([]);
  expect(await countRows(purged)).toEqual([0, 0, 0]);
  expect(await countRows(recent)).toEqual([1, 1, 2]);
  expect(await countRows(live)).toEqual([1, 1, 1]);
});

test("one round purges more keys and old secrets than one statement can delete", async () => {
  await addKey({ deletedDaysAgo: 31, formerSecrets: 1_200 });
  const ids = await sql<{ id: KeyId }>`
    insert into api_keys (id, user_id, name, start, hash, deleted_at)
    select gen_random_uuid(), ${userId}, 'key', '', sha256(gen_random_uuid()::text::bytea), now() - interval '31 days'
    from generate_series(1, 1_100)
    returning id`.execute(database.owner);
  await sql`
    insert into key_counters (key_id) select id from api_keys
    on conflict do nothing`.execute(database.owner);
  expect(await purge()).toEqual([]);
  expect(await countRows(...ids.rows.map(({ id }) => id))).toEqual([0, 0, 0]);
  expect((await sql`select from retired_secrets where start = ''`.execute(database.owner)).rows).toHaveLength(
    3, // Those of the live key and of the recently deleted key.
  );
});

test.each([
  ["key", (id: KeyId) => sql`select from api_keys where id = ${id} for no key update`],
  ["counter", (id: KeyId) => sql`select from key_counters where key_id = ${id} for no key update`],
  ["old secret", (id: KeyId) => sql`select from retired_secrets where key_id = ${id} for no key update`],
])(
  "a %s that another transaction has locked is left for a later round, without waiting",
  async (what, lock) => {
    const lockedKey = await addKey({ deletedDaysAgo: 31, formerSecrets: 1 });
    const other = await addKey({ deletedDaysAgo: 31 });
    await database.owner.transaction().execute(async (trx) => {
      expect((await lock(lockedKey).execute(trx)).rows).toHaveLength(1);
      expect(await purge()).toEqual([]);
      expect(await countRows(lockedKey)).toEqual([1, 1, what === "old secret" ? 1 : 0]);
      expect(await countRows(other)).toEqual([0, 0, 0]);
    });
    expect(await purge()).toEqual([]);
    expect(await countRows(lockedKey)).toEqual([0, 0, 0]);
  },
);

test("several nodes can purge at the same time", async () => {
  const ids = await Promise.all(
    Array.from({ length: 30 }, () => addKey({ deletedDaysAgo: 31, formerSecrets: 2 })),
  );
  expect((await Promise.all([purge(), purge(), purge()])).flat()).toEqual([]);
  await purge();
  expect(await countRows(...ids)).toEqual([0, 0, 0]);
});
