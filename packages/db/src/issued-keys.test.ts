import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { findOrCreateConsumer } from "./consumers.ts";
import type { IssuedKeyId } from "./ids.ts";
import { deleteIssuedKeys } from "./issued-key-changes.ts";
import { replaceUnusedIssuedSecrets } from "./issued-key-secrets.ts";
import { addKey, addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { findIssuedKey } from "./issued-keys.ts";
import { deleteKeyspace, lockKeyspaceAgainstDeletion } from "./keyspaces.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await addWorkspace(database.db);
});
afterAll(() => database.drop());

const work = <Result>(run: (trx: WorkspaceTrx) => Promise<Result>) => inWorkspace(database.db, scope, run);

test("concurrent transactions get one consumer, also if the first of them rolls back", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const find = (externalId: string) =>
    work((trx) => findOrCreateConsumer(trx, scope, { keyspaceId, externalId }));
  // As many as the pool has connections, because a transaction waits only 1.5 s for a connection.
  const ids = await Promise.all(Array.from({ length: 10 }, () => find("acme")));
  expect(new Set(ids).size).toBe(1);
  const { rows } = await sql`select from key_counters where key_id = ${ids[0]}`.execute(database.owner);
  expect(rows).toHaveLength(1);
  const waiting: Promise<unknown>[] = [];
  const first = work(async (trx) => {
    await findOrCreateConsumer(trx, scope, { keyspaceId, externalId: "globex" });
    waiting.push(find("globex"));
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    throw new Error("rolled back");
  });
  await expect(first).rejects.toThrow("rolled back");
  expect(await waiting[0]).toEqual(await find("globex"));
});

test("a keyspace can't be deleted while a key is added to it", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const order: string[] = [];
  let deletion: Promise<unknown> = Promise.resolve();
  await work(async (trx) => {
    expect(await lockKeyspaceAgainstDeletion(trx, scope, keyspaceId)).toMatchObject({ id: keyspaceId });
    deletion = work((other) => deleteKeyspace(other, scope, keyspaceId, undefined)).then(() =>
      order.push("deleted"),
    );
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    await addKey(trx, scope, { keyspaceId });
    order.push("added");
  });
  await deletion;
  expect(order).toEqual(["added", "deleted"]);
  expect(await work((trx) => lockKeyspaceAgainstDeletion(trx, scope, keyspaceId))).toBeUndefined();
});

test("a secret is replaced only while it is unused and current", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const hash = randomBytes(32);
  const id = await work((trx) => addKey(trx, scope, { keyspaceId, hash }));
  const replace = (issuedHash: Buffer, next: Buffer) =>
    work((trx) =>
      replaceUnusedIssuedSecrets(trx, scope, [{ id, issuedHash, start: "sk_live_x", hash: next }]),
    );
  const next = randomBytes(32);
  expect(await replace(randomBytes(32), randomBytes(32))).toEqual([]);
  expect(await replace(hash, next)).toEqual([id]);
  expect(await replace(hash, randomBytes(32))).toEqual([]);
  await sql`update key_counters set has_unused_secret = false where key_id = ${id}`.execute(database.owner);
  expect(await replace(next, randomBytes(32))).toEqual([]);
  expect(await work((trx) => findIssuedKey(trx, scope, { keyspaceId, id }))).toMatchObject({ version: 2 });
});

test("deletions lock counters in the order of their keys, as admission does", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const ids: IssuedKeyId[] = [];
  for (let count = 0; count < 10; count += 1)
    ids.push(await work((trx) => addKey(trx, scope, { keyspaceId })));
  ids.sort();
  const middle = 5;
  let deletion: Promise<void> = Promise.resolve();
  await database.owner.transaction().execute(async (trx) => {
    await sql`select from key_counters where key_id = ${ids[middle]} for no key update`.execute(trx);
    deletion = work((other) => deleteIssuedKeys(other, scope, ids.toReversed()));
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
    const { rows } = await sql<{ key_id: IssuedKeyId }>`
      select key_id from key_counters where key_id = any(${ids}::uuid[])
      for no key update skip locked`.execute(trx);
    expect(rows.map(({ key_id }) => key_id).sort()).toEqual(ids.slice(middle));
  });
  await deletion;
  const { rows } = await sql`
    select from key_counters where key_id = any(${ids}::uuid[])`.execute(database.owner);
  expect(rows).toEqual([]);
});
