import { createHash } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createId, type UserId } from "./ids.ts";
import { createPurgeRules } from "./purge.ts";
import { findKnownOrigins, rememberOrigins, replaceOrigins } from "./sign-in-origins.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const digestOf = (text: string) => createHash("sha256").update(text).digest();

async function addUser(): Promise<UserId> {
  const id = createId("user");
  await sql`insert into users (id, email, name) values (${id}, ${`${id}@example.com`}, 'Ada')`.execute(
    database.owner,
  );
  return id;
}

async function isKnown(...names: string[]): Promise<boolean[]> {
  const known = await findKnownOrigins(database.db, names.map(digestOf));
  return names.map((name) => known.has(digestOf(name).toString("hex")));
}

test("finds only the origins that were remembered", async () => {
  await rememberOrigins(database.db, await addUser(), [digestOf("laptop"), digestOf("office")]);
  expect(await isKnown("laptop", "office", "phone")).toEqual([true, true, false]);
});

test("remembers the 20 most recently used origins of each user", async () => {
  const [ada, grace] = [await addUser(), await addUser()];
  const name = (number: number) => `ada ${number}`;
  await rememberOrigins(database.db, grace, [digestOf("grace")]);
  for (let number = 0; number < 20; number += 1)
    await rememberOrigins(database.db, ada, [digestOf(name(number))]);
  await rememberOrigins(database.db, ada, [digestOf(name(0))]);
  await rememberOrigins(database.db, ada, [digestOf(name(20))]);
  expect(await isKnown(name(0), name(1), name(2), name(20), "grace")).toEqual([
    true,
    false,
    true,
    true,
    true,
  ]);
});

test("forgets an origin 90 days after its last use", async () => {
  const user = await addUser();
  await rememberOrigins(database.db, user, [digestOf("old"), digestOf("recent")]);
  const setAge = (name: string, age: string) =>
    sql`update sign_in_origins set last_used_at = now() - ${age}::interval where digest = ${digestOf(name)}`.execute(
      database.owner,
    );
  await setAge("old", "90 days 1 second");
  await setAge("recent", "89 days 23 hours");
  expect(await isKnown("old", "recent")).toEqual([false, true]);
  const rule = createPurgeRules({ historyDays: 90, instanceLogDays: 365 }).find(
    ({ name }) => name === "sign-in origins",
  );
  expect(await rule?.deleteBatch(database.db, 100)).toBe(1);
  expect(await isKnown("old", "recent")).toEqual([false, true]);
  await rememberOrigins(database.db, user, [digestOf("old")]);
  expect(await isKnown("old")).toEqual([true]);
});

test("replaces known origins, which are forgotten when the former ones would have been, and deletes all others", async () => {
  const user = await addUser();
  const other = await addUser();
  await rememberOrigins(database.db, other, [digestOf("of another user")]);
  await rememberOrigins(database.db, user, ["known", "forgotten", "other"].map(digestOf));
  const setAge = (names: readonly string[], age: string) =>
    sql`update sign_in_origins set last_used_at = now() - ${age}::interval
      where digest = any(${names.map(digestOf)}::bytea[])`.execute(database.owner);
  await setAge(["known"], "89 days");
  await setAge(["forgotten"], "91 days");
  const copies = ["known", "forgotten", "unknown", "of another user"].map((name) => ({
    former: digestOf(name),
    next: digestOf(`next ${name}`),
  }));
  await database.db.transaction().execute((trx) => replaceOrigins(trx, user, copies));
  expect(await isKnown("next known", "next forgotten", "next unknown")).toEqual([true, false, false]);
  expect(await isKnown("next of another user")).toEqual([false]);
  expect(await isKnown("known", "other", "of another user")).toEqual([false, false, true]);
  await sql`update sign_in_origins set last_used_at = last_used_at - interval '1 day'`.execute(
    database.owner,
  );
  expect(await isKnown("next known")).toEqual([false]);
});

test("an origin belongs to the user who was remembered last, and is forgotten with that user only", async () => {
  const [former, user] = [await addUser(), await addUser()];
  await rememberOrigins(database.db, former, [digestOf("shared"), digestOf("copied")]);
  await rememberOrigins(database.db, user, [digestOf("shared"), digestOf("own")]);
  const copies = [
    { former: digestOf("own"), next: digestOf("copied") },
    { former: digestOf("shared"), next: digestOf("shared") },
  ];
  await database.db.transaction().execute((trx) => replaceOrigins(trx, user, copies));
  await sql`delete from users where id = ${former}`.execute(database.owner);
  expect(await isKnown("shared", "copied")).toEqual([true, true]);
});
