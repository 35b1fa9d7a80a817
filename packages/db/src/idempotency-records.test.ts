import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { claimIdempotencyName } from "./idempotency-records.ts";
import { createId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

test("a request in progress blocks only the same user, method, path and Idempotency-Key", async () => {
  const name = { userId: createId("user"), method: "POST", path: "/open/workspaces", key: randomUUID() };
  await database.db.transaction().execute(async (first) => {
    expect(await claimIdempotencyName(first, name)).toBe(true);
    const claim = (other: Partial<typeof name>) =>
      database.db.transaction().execute((trx) => claimIdempotencyName(trx, { ...name, ...other }));
    expect(await claim({})).toBe(false);
    expect(await claim({ userId: createId("user") })).toBe(true);
    expect(await claim({ method: "PUT" })).toBe(true);
    expect(await claim({ path: "/open/api-keys" })).toBe(true);
    expect(await claim({ key: randomUUID() })).toBe(true);
  });
});
