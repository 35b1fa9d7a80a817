import type { UserId } from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { disableUser, enableUser } from "@latchkey/db/users";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { admissionKit, admitted } from "./admission.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addUser, addKey } = admissionKit(() => database);

/** Changes a user and the user's version as an owner. */
async function setDisabled(userId: UserId, isDisabled: boolean): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    const disabledAt = isDisabled ? sql`clock_timestamp()` : sql`null`;
    await sql`update users set disabled_at = ${disabledAt} where id = ${userId}`.execute(trx);
    await sql`
      insert into owner_versions (owner_id, version) values (${userId}, 1)
      on conflict (owner_id) do update set version = owner_versions.version + 1`.execute(trx);
  });
}

async function readKeyVersions(userId: UserId): Promise<number[]> {
  const rows = await database.owner
    .selectFrom("key_counters")
    .innerJoin("api_keys", "api_keys.id", "key_counters.key_id")
    .where("user_id", "=", userId)
    .select("key_counters.version")
    .execute();
  return rows.map(({ version }) => version);
}

test("a change to an owner applies to the next request with each key, on every node", async () => {
  const nodes = [openNode(), openNode()];
  const userId = await addUser();
  const keys = await Promise.all(Array.from({ length: 5 }, () => addKey(userId)));
  const foreign = await addKey();
  for (const isDisabled of [false, true, false, true]) {
    await setDisabled(userId, isDisabled);
    for (const node of nodes) {
      // A batch of one key, and a batch of keys of two owners.
      const one = await node.admit(keys[0]?.secret ?? "");
      const verdicts = await Promise.all([...keys, foreign].map(({ secret }) => node.admit(secret)));
      expect([one.kind === "admitted", admitted(verdicts)]).toEqual([!isDisabled, isDisabled ? 1 : 6]);
    }
  }
  expect(await readKeyVersions(userId)).toEqual([1, 1, 1, 1, 1]);
});

test("a change to an owner makes a node look up that owner's keys once, and no other key", async () => {
  const statements: { increments: number; lookups: number }[] = [];
  const node = openNode({ onStatement: (statement) => statements.push(statement) });
  const userId = await addUser();
  const [changed, other] = [await addKey(userId), await addKey()];
  const admitBoth = async () => {
    statements.length = 0;
    expect(admitted(await Promise.all([changed, other].map(({ secret }) => node.admit(secret))))).toBe(2);
    return statements.map(({ increments, lookups }) => [increments, lookups]);
  };
  await admitBoth();
  await admitBoth();
  expect(await admitBoth()).toEqual([[2, 0]]);
  await setDisabled(userId, true);
  await setDisabled(userId, false);
  expect((await admitBoth()).reduce((sum, [, lookups = 0]) => sum + lookups, 0)).toBe(1);
  expect(await admitBoth()).toEqual([[2, 0]]);
});

test.each([
  ["once it has connected again", true],
  ["while it connects again", false],
])("a node uses no facts from before a database lost its latest changes: %s", async (_, isConnected) => {
  const node = openNode();
  const userId = await addUser();
  const { secret } = await addKey(userId);
  await setDisabled(userId, true);
  await setDisabled(userId, false);
  expect(await node.admit(secret)).toMatchObject({ kind: "admitted" });
  // As after the promotion of a standby that had not received the last change.
  await sql`update owner_versions set version = version - 1 where owner_id = ${userId}`.execute(
    database.owner,
  );
  await sql`update users set disabled_at = clock_timestamp() where id = ${userId}`.execute(database.owner);
  await database.setAvailable(false);
  await database.setAvailable(true);
  if (isConnected) await expect.poll(() => node.isAvailable()).toBe(true);
  await setDisabled(userId, true);
  expect(await node.admit(secret)).toMatchObject({ kind: "rejected", reason: "user-disabled" });
});

test("disabling and enabling a user changes one row, and none of the user's keys", async () => {
  const userId = await addUser();
  await addKey(userId);
  await database.db.transaction().execute((trx) => disableUser(trx, userId));
  await database.db.transaction().execute((trx) => enableUser(trx, userId));
  const { rows } = await sql`select version from owner_versions where owner_id = ${userId}`.execute(
    database.owner,
  );
  expect([rows, await readKeyVersions(userId)]).toEqual([[{ version: 2 }], [1]]);
});
