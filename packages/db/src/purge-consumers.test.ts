import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { findOrCreateConsumer, listConsumers, updateConsumer } from "./consumers.ts";
import type { ConsumerId, IssuedKeyId, KeyspaceId } from "./ids.ts";
import { deleteIssuedKeys, markConsumersUnused, updateIssuedKey } from "./issued-key-changes.ts";
import { addKey, addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { createConsumerPurge } from "./purge-consumers.ts";
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

interface Added {
  readonly consumerId: ConsumerId;
  readonly keyId: IssuedKeyId;
}

async function addKeyOf(externalId: string, keyspaceId: KeyspaceId): Promise<Added> {
  return await work(async (trx) => {
    const consumerId = await findOrCreateConsumer(trx, scope, { keyspaceId, externalId });
    return { consumerId, keyId: await addKey(trx, scope, { keyspaceId, consumerId }) };
  });
}

const removeKey = ({ keyId }: Added) => work((trx) => deleteIssuedKeys(trx, scope, [keyId]));

/** Moves the time at which consumers became unused into the past. */
async function age(keyspaceId: KeyspaceId, days: number): Promise<void> {
  await sql`
    update consumers set unused_since = unused_since - make_interval(days => ${days})
    where keyspace_id = ${keyspaceId}`.execute(database.owner);
}

async function list(keyspaceId: KeyspaceId): Promise<readonly string[]> {
  const page = { sort: "createdAt", direction: "asc", limit: 100, filter: {}, keyspaceId } as const;
  const { rows } = await work((trx) => listConsumers(trx, scope, page));
  return rows.map(({ externalId }) => externalId);
}

const limits = [{ name: "requests", quota: 1, windowSeconds: 60, appliesAlways: true }];

test("a consumer is purged 30 days after it lost its last key or limit, with its counter and version", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const [unused, moved, kept, limited] = [
    await addKeyOf("unused", keyspaceId),
    await addKeyOf("moved away", keyspaceId),
    await addKeyOf("has another key", keyspaceId),
    await addKeyOf("has limits", keyspaceId),
  ];
  await addKeyOf("has another key", keyspaceId);
  await addKeyOf("never lost a key", keyspaceId);
  await sql`insert into owner_versions (owner_id, version) values (${unused.consumerId}, 1)`.execute(
    database.owner,
  );
  const change = { settings: {}, consumerId: null, versions: undefined };
  await work(async (trx) => {
    await markConsumersUnused(trx, [moved.keyId]);
    await updateIssuedKey(trx, scope, moved.keyId, change);
  });
  await work((trx) => updateConsumer(trx, scope, limited.consumerId, { limits, versions: undefined }));
  for (const key of [unused, kept, limited]) await removeKey(key);
  const purge = createConsumerPurge();
  await age(keyspaceId, 29);
  expect(await purge(database.db, 100)).toBe(0);
  await age(keyspaceId, 1);
  // Those that are in use are visited once.
  expect(await purge(database.db, 100)).toBe(4);
  expect(await purge(database.db, 100)).toBe(0);
  expect(await list(keyspaceId)).toEqual(["has another key", "has limits", "never lost a key"]);
  const { rows } = await sql<{ counters: number; versions: number; consumers: number }>`
    select
      (select count(*) from key_counters where key_id in (${unused.consumerId}, ${moved.consumerId})) as counters,
      (select count(*) from owner_versions where owner_id = ${unused.consumerId}) as versions,
      (select consumer_count from issued_key_counts where keyspace_id = ${keyspaceId}) as consumers`.execute(
    database.owner,
  );
  expect(rows).toEqual([{ counters: 0, versions: 0, consumers: 3 }]);
  await work((trx) => updateConsumer(trx, scope, limited.consumerId, { limits: [], versions: undefined }));
  await age(keyspaceId, 30);
  expect(await purge(database.db, 100)).toBe(1);
  expect(await list(keyspaceId)).toEqual(["has another key", "never lost a key"]);
});

test("a consumer that gets a key again is kept, also while the purge runs", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  await removeKey(await addKeyOf("acme", keyspaceId));
  await age(keyspaceId, 30);
  await work(async (trx) => {
    const consumerId = await findOrCreateConsumer(trx, scope, { keyspaceId, externalId: "acme" });
    // The row is locked, so the purge leaves it for a later round.
    expect(await createConsumerPurge()(database.db, 100)).toBe(0);
    await addKey(trx, scope, { keyspaceId, consumerId });
  });
  expect(await createConsumerPurge()(database.db, 100)).toBe(0);
  expect(await list(keyspaceId)).toEqual(["acme"]);
});

test("a key whose consumer is being purged gets a new one", async () => {
  const keyspaceId = await addKeyspace(database.db, scope);
  const { consumerId } = await addKeyOf("acme", keyspaceId);
  let found: Promise<ConsumerId> | undefined;
  await database.owner.transaction().execute(async (trx) => {
    await sql`delete from consumers where id = ${consumerId}`.execute(trx);
    found = work((other) => findOrCreateConsumer(other, scope, { keyspaceId, externalId: "acme" }));
    await expect.poll(() => countWaiting(database.owner)).toBe(1);
  });
  expect(await found).not.toBe(consumerId);
  expect(await list(keyspaceId)).toEqual(["acme"]);
});
