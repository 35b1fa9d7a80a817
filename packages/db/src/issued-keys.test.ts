import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { findOrCreateConsumer } from "./consumers.ts";
import { createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { deleteIssuedKeys, insertIssuedKey, replaceUnusedIssuedSecret } from "./issued-key-changes.ts";
import { findIssuedKey } from "./issued-keys.ts";
import { deleteKeyspace, insertKeyspace, lockKeyspaceAgainstDeletion } from "./keyspaces.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await database.db.transaction().execute(async (trx) => {
    const user = { email: "ada@example.com", name: "Ada", passwordHash: "hash" };
    const ownerId = (await insertUserWithPassword(trx, user)) as never; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Workspace", slug: randomUUID(), ownerId });
    return made?.scope as WorkspaceScope; // No workspace has this slug.
  });
});
afterAll(() => database.drop());

const work = <Result>(run: (trx: WorkspaceTrx) => Promise<Result>) => inWorkspace(database.db, scope, run);

async function addKeyspace(): Promise<KeyspaceId> {
  const id = createId("keyspace");
  const defaults = {
    defaultLifetimeDays: null,
    defaultPermissions: [],
    defaultLimits: [],
    defaultCredits: null,
  };
  await work((trx) =>
    insertKeyspace(trx, scope, { id, name: "Production", prefix: "sk_live", environment: "", ...defaults }),
  );
  return id;
}

const settings = {
  name: "",
  meta: {},
  permissions: [],
  limits: [],
  refill: null,
  expiresAt: null,
  isDisabled: false,
  ipRanges: null,
};

async function addKey(keyspaceId: KeyspaceId): Promise<{ id: IssuedKeyId; hash: Buffer }> {
  const hash = randomBytes(32);
  const key = { keyspaceId, consumerId: null, start: "sk_live_abcdef", hash, settings, remainingCredits: 1 };
  return { id: await work((trx) => insertIssuedKey(trx, scope, key)), hash };
}

/** Whether a statement in the test's database waits for a lock. */
async function isAnyoneWaiting(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`.execute(database.owner);
  return rows.length > 0;
}

test("concurrent transactions get one consumer, also if the first of them rolls back", async () => {
  const keyspaceId = await addKeyspace();
  const find = (externalId: string) =>
    work((trx) => findOrCreateConsumer(trx, scope, { keyspaceId, externalId }));
  const ids = await Promise.all(Array.from({ length: 20 }, () => find("acme")));
  expect(new Set(ids).size).toBe(1);
  const { rows } = await sql`select from key_counters where key_id = ${ids[0]}`.execute(database.owner);
  expect(rows).toHaveLength(1);
  const waiting: Promise<unknown>[] = [];
  const first = work(async (trx) => {
    await findOrCreateConsumer(trx, scope, { keyspaceId, externalId: "globex" });
    waiting.push(find("globex"));
    await expect.poll(isAnyoneWaiting).toBe(true);
    throw new Error("rolled back");
  });
  await expect(first).rejects.toThrow("rolled back");
  expect(await waiting[0]).toEqual(await find("globex"));
});

test("a keyspace can't be deleted while a key is added to it", async () => {
  const keyspaceId = await addKeyspace();
  const order: string[] = [];
  let deletion: Promise<unknown> = Promise.resolve();
  await work(async (trx) => {
    expect(await lockKeyspaceAgainstDeletion(trx, scope, keyspaceId)).toMatchObject({ id: keyspaceId });
    deletion = work((other) => deleteKeyspace(other, scope, keyspaceId, undefined)).then(() =>
      order.push("deleted"),
    );
    await expect.poll(isAnyoneWaiting).toBe(true);
    const key = {
      keyspaceId,
      consumerId: null,
      start: "",
      hash: randomBytes(32),
      settings,
      remainingCredits: null,
    };
    await insertIssuedKey(trx, scope, key);
    order.push("added");
  });
  await deletion;
  expect(order).toEqual(["added", "deleted"]);
  expect(await work((trx) => lockKeyspaceAgainstDeletion(trx, scope, keyspaceId))).toBeUndefined();
});

test("a secret is replaced only while it is unused and current", async () => {
  const keyspaceId = await addKeyspace();
  const { id, hash } = await addKey(keyspaceId);
  const replace = (issuedHash: Buffer, next: Buffer) =>
    work((trx) =>
      replaceUnusedIssuedSecret(trx, scope, { id, issuedHash }, { start: "sk_live_x", hash: next }),
    );
  const next = randomBytes(32);
  expect(await replace(randomBytes(32), randomBytes(32))).toBe(false);
  expect(await replace(hash, next)).toBe(true);
  expect(await replace(hash, randomBytes(32))).toBe(false);
  await sql`update key_counters set use_count = 1 where key_id = ${id}`.execute(database.owner);
  expect(await replace(next, randomBytes(32))).toBe(false);
  expect(await work((trx) => findIssuedKey(trx, scope, { keyspaceId, id }))).toMatchObject({ version: 2 });
});

test("deletions lock counters in the order of their keys, as admission does", async () => {
  const keyspaceId = await addKeyspace();
  const keys: { readonly id: IssuedKeyId }[] = [];
  for (let count = 0; count < 10; count += 1) keys.push(await addKey(keyspaceId));
  const ids = keys.map(({ id }) => id).sort();
  const middle = 5;
  let deletion: Promise<void> = Promise.resolve();
  await database.owner.transaction().execute(async (trx) => {
    await sql`select from key_counters where key_id = ${ids[middle]} for no key update`.execute(trx);
    deletion = work((other) => deleteIssuedKeys(other, scope, ids.toReversed()));
    const isBlocking = async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(trx);
      return rows.length > 0;
    };
    await expect.poll(isBlocking).toBe(true);
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
