import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { disableUser, findUserByEmail, getUser, insertUserWithPassword } from "./users.ts";

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

test("of the first users, who come at once, exactly one is the operator; nobody after them is", async () => {
  await Promise.all(Array.from({ length: 8 }, () => addUser()));
  await addUser();
  const operators = await database.db
    .selectFrom("users")
    .select("id")
    .where("is_operator", "=", true)
    .execute();
  expect(operators).toHaveLength(1);
});

test("an address has one account, also when two ask for it at once", async () => {
  const email = `${randomUUID()}@example.com`;
  const ids = await Promise.all([addUser(email), addUser(email), addUser(email)]);
  expect(ids.filter((id) => id !== undefined)).toHaveLength(1);
  expect(await findUserByEmail(database.db, email)).toMatchObject({ email, isDisabled: false });
});

test("disabling a user ends the sessions and can be repeated", async () => {
  const id = (await addUser()) as UserId; // The address is new.
  await database.db
    .insertInto("sessions")
    .values({
      id: randomUUID() as never,
      user_id: id,
      token: randomUUID(),
      expires_at: new Date("2100-01-01"),
    })
    .execute();
  await database.db.transaction().execute((trx) => disableUser(trx, id));
  await database.db.transaction().execute((trx) => disableUser(trx, id));
  expect(await getUser(database.db, id)).toMatchObject({ isDisabled: true });
  expect(await database.db.selectFrom("sessions").select("id").where("user_id", "=", id).execute()).toEqual(
    [],
  );
});
