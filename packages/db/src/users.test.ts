import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { disableUser, enableUser, findUser, findUserByEmail, insertUserWithPassword } from "./users.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addUser(email = `${randomUUID()}@example.com`): Promise<UserId | undefined> {
  return await database.db
    .transaction()
    .execute((trx) => insertUserWithPassword(trx, { email, name: "Somebody", passwordHash: "hash" }));
}

test("of the first users, who sign up at the same time, exactly one is the operator; later users are not", async () => {
  await Promise.all(Array.from({ length: 8 }, () => addUser()));
  await addUser();
  const operators = await database.db
    .selectFrom("users")
    .select("id")
    .where("is_operator", "=", true)
    .execute();
  expect(operators).toHaveLength(1);
});

test("an email address gets one account, even if several are requested at the same time", async () => {
  const email = `${randomUUID()}@example.com`;
  const ids = await Promise.all([addUser(email), addUser(email), addUser(email)]);
  expect(ids.filter((id) => id !== undefined)).toHaveLength(1);
  expect(await findUserByEmail(database.db, email)).toMatchObject({ email, isDisabled: false });
});

async function addSession(userId: UserId): Promise<void> {
  await database.db
    .insertInto("sessions")
    .values({
      id: randomUUID() as never,
      user_id: userId,
      token: randomUUID(),
      expires_at: new Date("2100-01-01"),
    })
    .execute();
}

async function countSessions(userId: UserId): Promise<number> {
  return (await database.db.selectFrom("sessions").select("id").where("user_id", "=", userId).execute())
    .length;
}

async function disable(id: UserId): Promise<void> {
  await database.db.transaction().execute((trx) => disableUser(trx, id));
}

async function enable(id: UserId): Promise<void> {
  await database.db.transaction().execute((trx) => enableUser(trx, id));
}

test("disabling a user ends the sessions and can be repeated", async () => {
  const id = (await addUser()) as UserId; // No account has this email address.
  await addSession(id);
  await disable(id);
  await disable(id);
  expect(await findUser(database.db, id)).toMatchObject({ isDisabled: true });
  expect(await countSessions(id)).toBe(0);
});

test("enabling a user restores no session, not even one that was opened while the user was disabled", async () => {
  const id = (await addUser()) as UserId; // No account has this email address.
  await addSession(id);
  await disable(id);
  // A sign-in that read the user before they were disabled writes its session afterwards.
  await addSession(id);
  await enable(id);
  expect(await findUser(database.db, id)).toMatchObject({ isDisabled: false });
  expect(await countSessions(id)).toBe(0);
});

test("enabling a user who is enabled ends no session", async () => {
  const id = (await addUser()) as UserId; // No account has this email address.
  await addSession(id);
  await enable(id);
  expect(await findUser(database.db, id)).toMatchObject({ isDisabled: false });
  expect(await countSessions(id)).toBe(1);
});

test("disabling and enabling a user increment only that user's version as an owner of keys", async () => {
  const [id, stranger] = [(await addUser()) as UserId, (await addUser()) as UserId]; // The addresses are new.
  await disable(id);
  expect(await readVersion(id)).toBe(1);
  await enable(id);
  expect(await readVersion(id)).toBe(2);
  expect(await readVersion(stranger)).toBe(0);
});

async function readVersion(ownerId: UserId): Promise<number> {
  const row = await database.owner
    .selectFrom("owner_versions")
    .select("version")
    .where("owner_id", "=", ownerId)
    .executeTakeFirst();
  return row?.version ?? 0;
}
