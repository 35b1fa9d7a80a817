import { deleteApiKey, rotateApiKey } from "@latchkey/db/api-key-changes";
import { findApiKey } from "@latchkey/db/api-keys";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { Purger } from "@latchkey/db/purger";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";

// Keys that are purged as soon as they are deleted.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { addKey, openNode } = admissionKit(() => database);

function openPurger() {
  const failures: unknown[] = [];
  const { connection } = database;
  const purger = new Purger({ connection, historyDays: 0, onFailure: (error) => failures.push(error) });
  onTestFinished(() => purger.close());
  return { purger, failures };
}

const remove = (key: TestKey) => database.db.transaction().execute((trx) => deleteApiKey(trx, key));

async function outcomeOf(node: Admission, secret: string): Promise<string> {
  const verdict = await node.admit(secret);
  return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
}

async function listKeyIds(): Promise<readonly string[]> {
  const rows = await database.owner.selectFrom("api_keys").select("id").orderBy("id").execute();
  return rows.map(({ id }) => id);
}

test("a purged key and its old secrets are unknown, on a node that remembers the key and on any other", async () => {
  const [remembering, other] = [openNode(), openNode()];
  const key = await addKey();
  const { secret, start, hash } = createApiKey();
  await database.db.transaction().execute(async (trx) => {
    await rotateApiKey(trx, key.id, { start, hash, overlapSeconds: 600 });
    await bumpKeyVersions(trx, { keyId: key.id, hasNewSecret: true });
  });
  for (const known of [key.secret, secret]) expect(await outcomeOf(remembering, known)).toBe("admitted");
  await remove(key);
  const { purger, failures } = openPurger();
  await purger.run();
  expect(failures).toEqual([]);
  for (const node of [remembering, other])
    for (const known of [key.secret, secret]) expect(await outcomeOf(node, known)).toBe("unknown");
});

test("purging under load rejects no valid request, loses no count and deletes no live key", async () => {
  const nodes = [openNode(), openNode()];
  const purgers = [openPurger(), openPurger()];
  const live = await Promise.all(Array.from({ length: 20 }, () => addKey()));
  const deleted = await Promise.all(Array.from({ length: 60 }, () => addKey()));
  const acknowledged = new Set<TestKey>();
  const wrong: unknown[] = [];
  const counts = new Map(live.map(({ id }) => [id, 0]));
  let isStopped = false;
  onTestFinished(() => {
    isStopped = true;
  });
  const admitOnce = async (node: Admission, key: TestKey): Promise<void> => {
    const allowed = [
      ...(acknowledged.has(key) ? [] : ["admitted"]),
      ...(counts.has(key.id) ? [] : ["deleted", "unknown"]),
    ];
    const outcome = await outcomeOf(node, key.secret);
    if (!allowed.includes(outcome)) wrong.push([key.id, outcome, allowed]);
    const count = counts.get(key.id);
    if (count !== undefined) counts.set(key.id, count + 1);
  };
  // The nodes use the keys in opposite orders.
  const traffic = nodes.map(async (node, index) => {
    const keys = [...live, ...deleted].toSorted((one, other) => (one.id < other.id ? -1 : 1));
    if (index === 1) keys.reverse();
    while (!isStopped) await Promise.all(keys.map((key) => admitOnce(node, key)));
  });
  const purging = purgers.map(async ({ purger }) => {
    while (!isStopped) await purger.run();
  });
  for (const key of deleted) {
    await remove(key);
    acknowledged.add(key);
  }
  const liveIds = live.map(({ id }) => id).toSorted();
  await expect.poll(listKeyIds).toEqual(liveIds);
  isStopped = true;
  await Promise.all([...traffic, ...purging]);
  expect(wrong).toEqual([]);
  expect(purgers.flatMap(({ failures }) => failures)).toEqual([]);
  for (const key of live)
    expect((await findApiKey(database.db, key))?.usageCount, key.id).toBe(counts.get(key.id));
  const counters = await database.owner.selectFrom("key_counters").select("key_id").execute();
  expect(counters.map(({ key_id }) => key_id).toSorted()).toEqual(liveIds);
});
