import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { deleteApiKey, insertApiKey, lockApiKey, updateApiKey } from "./api-key-changes.ts";
import { findRateLimitedKeys } from "./api-key-search.ts";
import { findApiKey, listApiKeys, summarizeApiKeys } from "./api-keys.ts";
import type { KeyId, UserId } from "./ids.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { disableUser, insertUserWithPassword } from "./users.ts";
import { asUser } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addUser(): Promise<UserId> {
  const user = { email: `${randomUUID()}@example.com`, name: "Somebody", passwordHash: "hash" };
  return (await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user))) as UserId; // No account has this email address.
}

async function addKey(userId: UserId, name: string, description = ""): Promise<KeyId> {
  const key = { userId, name, description, start: "lk_abcdef", hash: randomBytes(32) };
  return (await database.db.transaction().execute((trx) => insertApiKey(trx, key))) as KeyId; // The user is not disabled.
}

type Query = Parameters<typeof listApiKeys>[2];

const list = (userId: UserId, query: Query) =>
  asUser(database.db, userId, (trx) => listApiKeys(trx, userId, query));

async function names(userId: UserId, search: string): Promise<string[]> {
  const { items } = await list(userId, { search, offset: 0, limit: 100 });
  return items.map((item) => item.name);
}

test("lists pages of a user's own keys, newest first, with the total", async () => {
  const [userId, stranger] = [await addUser(), await addUser()];
  for (const name of ["one", "two", "three"]) await addKey(userId, name);
  await addKey(stranger, "foreign");
  const first = await list(userId, { search: "", offset: 0, limit: 2 });
  const second = await list(userId, { search: "", offset: 2, limit: 2 });
  expect([first.items.map((key) => key.name), second.items.map((key) => key.name)]).toEqual([
    ["three", "two"],
    ["one"],
  ]);
  expect([first.total, second.total]).toEqual([3, 3]);
  expect(first.items[0]).toMatchObject({ usageCount: 0, lastUsedAt: null, start: "lk_abcdef" });
});

test("returns pages of a search with the number of matching keys, whether or not the newest keys fill the page", async () => {
  const userId = await addUser();
  for (let key = 0; key < 7; key += 1) await addKey(userId, `${key % 2 === 0 ? "even" : "odd"} ${key}`);
  const find = async (search: string, offset: number) => {
    const { items, total } = await list(userId, { search, offset, limit: 3 });
    return [items.map(({ name }) => name), total];
  };
  expect(await find("even", 0)).toEqual([["even 6", "even 4", "even 2"], 4]);
  expect(await find("even", 3)).toEqual([["even 0"], 4]);
  expect(await find("odd", 0)).toEqual([["odd 5", "odd 3", "odd 1"], 3]);
  expect(await find("nothing", 0)).toEqual([[], 0]);
});

test("a search finds a key that is older than 2,500 others", async () => {
  const userId = await addUser();
  await addKey(userId, "rare old");
  await sql`
    with made as (
      insert into api_keys (id, user_id, name, start, hash)
      select gen_random_uuid(), ${userId}, 'common ' || n, 'lk_abcdef', sha256(uuid_send(gen_random_uuid()))
      from generate_series(1, 2500) n
      returning id
    )
    insert into key_counters (key_id) select id from made`.execute(database.owner);
  await addKey(userId, "rare new");
  expect(await names(userId, "rare")).toEqual(["rare new", "rare old"]);
  const page = await list(userId, { search: "rare", offset: 0, limit: 1 });
  expect([page.items.map(({ name }) => name), page.total]).toEqual([["rare new"], 2]);
});

test("searches name, description and first characters, ignoring case and treating wildcards literally", async () => {
  const userId = await addUser();
  await addKey(userId, "100% sure", "for the Build");
  await addKey(userId, "under_score");
  await addKey(userId, "back\\slash");
  expect(await names(userId, "BUILD")).toEqual(["100% sure"]);
  expect(await names(userId, "%")).toEqual(["100% sure"]);
  expect(await names(userId, "_s")).toEqual(["under_score"]);
  expect(await names(userId, "\\")).toEqual(["back\\slash"]);
  expect(await names(userId, "lk_abc")).toHaveLength(3);
  expect(await names(userId, "nowhere")).toEqual([]);
});

test("only the owner can find, change or delete a key", async () => {
  const [userId, stranger] = [await addUser(), await addUser()];
  const id = await addKey(userId, "mine");
  const foreign = { userId: stranger, id };
  expect(await findApiKey(database.db, foreign)).toBeUndefined();
  expect(
    await database.db.transaction().execute((trx) => updateApiKey(trx, foreign, { name: "theirs" })),
  ).toBe(false);
  expect(await database.db.transaction().execute((trx) => deleteApiKey(trx, foreign))).toBe(false);
  expect(await findApiKey(database.db, { userId, id })).toMatchObject({ name: "mine" });
});

test("of concurrent deletions, only one succeeds; the key then can't be listed or changed", async () => {
  const userId = await addUser();
  const id = await addKey(userId, "short-lived");
  const deletions = Array.from({ length: 5 }, () =>
    database.db.transaction().execute((trx) => deleteApiKey(trx, { userId, id })),
  );
  expect((await Promise.all(deletions)).filter(Boolean)).toHaveLength(1);
  expect(await names(userId, "")).toEqual([]);
  expect(
    await database.db.transaction().execute((trx) => updateApiKey(trx, { userId, id }, { name: "again" })),
  ).toBe(false);
});

test("a transaction that locks a key waits for one that has locked it, and then reads its changes", async () => {
  const userId = await addUser();
  const key = { userId, id: await addKey(userId, "CI") };
  const { promise: isLocked, resolve: notifyLocked } = Promise.withResolvers<void>();
  const { promise: commitSignal, resolve: letCommit } = Promise.withResolvers<void>();
  const edit = (addition: string, onChanged: () => Promise<void> | void) =>
    database.db.transaction().execute(async (trx) => {
      const { name } = (await lockApiKey(trx, key)) ?? { name: "deleted" };
      await updateApiKey(trx, key, { name: name + addition });
      await onChanged();
    });
  const first = edit(" for tests", async () => {
    notifyLocked();
    await commitSignal;
  });
  await isLocked;
  const second = edit(" on branches", () => undefined);
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  letCommit();
  await Promise.all([first, second]);
  expect(await names(userId, "")).toEqual(["CI for tests on branches"]);
});

test("the disabling of a user waits for a key that is being created, and later ones are not created", async () => {
  const userId = await addUser();
  await addKey(userId, "before");
  const key = { userId, name: "concurrent", description: "", start: "lk_abcdef", hash: randomBytes(32) };
  const { promise: isLocked, resolve: notifyLocked } = Promise.withResolvers<void>();
  const { promise: commitSignal, resolve: letCommit } = Promise.withResolvers<void>();
  const creation = database.db.transaction().execute(async (trx) => {
    const id = await insertApiKey(trx, key);
    notifyLocked();
    await commitSignal;
    return id;
  });
  await isLocked;
  const disabling = database.db.transaction().execute((trx) => disableUser(trx, userId));
  // Lets the creation commit only after the disabling waits for it.
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  letCommit();
  // The user was not disabled yet.
  expect(await creation).toBeDefined();
  await disabling;
  const late = { ...key, hash: randomBytes(32) };
  expect(await database.db.transaction().execute((trx) => insertApiKey(trx, late))).toBeUndefined();
});

test("adds up a user's own keys, except deleted ones", async () => {
  const [userId, stranger] = [await addUser(), await addUser()];
  expect(await summarizeApiKeys(database.db, userId)).toEqual({
    keyCount: 0,
    usageCount: 0,
    lastUsedAt: null,
  });
  const lastUsedAt = new Date("2026-03-02T00:00:00Z");
  for (const [owner, uses] of [
    [userId, 2],
    [userId, 40],
    [stranger, 100],
    [userId, 1_000],
  ] as const) {
    const id = await addKey(owner, `used ${uses} times`);
    await database.owner
      .updateTable("key_counters")
      .set({ use_count: uses, last_used_at: new Date(lastUsedAt.getTime() - uses) })
      .where("key_id", "=", id)
      .execute();
    if (uses === 1_000) await database.db.transaction().execute((trx) => deleteApiKey(trx, { userId, id }));
  }
  expect(await summarizeApiKeys(database.db, userId)).toEqual({
    keyCount: 2,
    usageCount: 42,
    lastUsedAt: new Date(lastUsedAt.getTime() - 2),
  });
});

test("sorts keys, with missing values last in both directions", async () => {
  const userId = await addUser();
  const [beta, alpha, gamma] = [
    await addKey(userId, "beta"),
    await addKey(userId, "Alpha"),
    await addKey(userId, "gamma"),
  ];
  await sql`update api_keys set expires_at = now() + interval '1 day' where id = ${alpha}`.execute(
    database.owner,
  );
  await sql`update api_keys set expires_at = now() + interval '2 days' where id = ${gamma}`.execute(
    database.owner,
  );
  await sql`update key_counters set use_count = 5, last_used_at = now() where key_id = ${beta}`.execute(
    database.owner,
  );
  const sorted = async (sort: NonNullable<Query["sort"]>, direction: "asc" | "desc") => {
    const { items, total } = await list(userId, { search: "", sort, direction, offset: 0, limit: 10 });
    expect(total).toBe(3);
    return items.map(({ name }) => name);
  };
  expect(await sorted("name", "asc")).toEqual(["Alpha", "beta", "gamma"]);
  expect(await sorted("name", "desc")).toEqual(["gamma", "beta", "Alpha"]);
  expect(await sorted("createdAt", "asc")).toEqual(["beta", "Alpha", "gamma"]);
  expect(await sorted("expiresAt", "asc")).toEqual(["Alpha", "gamma", "beta"]);
  expect(await sorted("expiresAt", "desc")).toEqual(["gamma", "Alpha", "beta"]);
  expect((await sorted("usageCount", "desc"))[0]).toBe("beta");
  expect((await sorted("lastUsedAt", "asc"))[0]).toBe("beta");
  const page = { search: "a", sort: "name", direction: "asc", limit: 2 } as const;
  expect(await list(userId, { ...page, offset: 2 })).toMatchObject({ items: [{ name: "gamma" }], total: 3 });
  expect(await list(userId, { ...page, offset: 4 })).toEqual({ items: [], total: 3 });
});

test("filters keys by status", async () => {
  const userId = await addUser();
  const add = async (name: string, change = sql`name = name`) => {
    const id = await addKey(userId, name);
    await sql`update api_keys set ${change} where id = ${id}`.execute(database.owner);
    return id;
  };
  await add("active");
  await add("disabled", sql`disabled_at = now()`);
  await add("expired", sql`expires_at = now() - interval '1 s'`);
  await add("soon", sql`expires_at = now() + interval '29 days'`);
  await add("later", sql`expires_at = now() + interval '31 days'`);
  await add("unused", sql`created_at = now() - interval '31 days'`);
  const used = await add("used", sql`created_at = now() - interval '31 days'`);
  await sql`update key_counters set last_used_at = now() - interval '29 days' where key_id = ${used}`.execute(
    database.owner,
  );
  const [rotating, limited] = [await add("rotating"), await add("limited")];
  await sql`
    insert into retired_secrets (hash, key_id, start, good_until)
    values (${randomBytes(32)}, ${rotating}, 'lk_', now() + interval '1 hour')`.execute(database.owner);
  await sql`
    insert into key_usage_hours (key_id, hour, outcome, count)
    values (${limited}, date_trunc('hour', now()), 'limited', 1)`.execute(database.owner);
  const find = async (status: NonNullable<Query["status"]>) => {
    const query = { search: "", status, sort: "name", direction: "asc", offset: 0, limit: 20 } as const;
    return (await list(userId, query)).items.map(({ name }) => name);
  };
  expect(await find("disabled")).toEqual(["disabled"]);
  expect(await find("expired")).toEqual(["expired"]);
  expect(await find("expiring")).toEqual(["soon"]);
  expect(await find("unused")).toEqual(["unused"]);
  expect(await find("rotating")).toEqual(["rotating"]);
  expect(await find("limited")).toEqual(["limited"]);
  expect(await find("active")).toEqual(["active", "later", "limited", "rotating", "soon", "unused", "used"]);
  const ids = [limited, rotating];
  expect(await asUser(database.db, userId, (trx) => findRateLimitedKeys(trx, ids))).toEqual(
    new Set([limited]),
  );
});
