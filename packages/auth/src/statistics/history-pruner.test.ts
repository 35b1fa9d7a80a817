import { randomBytes } from "node:crypto";
import { databaseFailure } from "@latchkey/db/database-failure";
import { createId } from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { HistoryPruner } from "./history-pruner.ts";
import { admitted, recorderKit, request } from "./usage-recorder.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate key_usage_hours, key_addresses, key_refusals`.execute(database.owner);
});

const { openRecorder, readHours, addKey, holdTable } = recorderKit(() => database);

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Opens a pruner that keeps 30 days. By default, it prunes only on command. */
function openPruner(pruneEveryMs = 3_600_000) {
  const failures: unknown[] = [];
  const { connection } = database;
  const onFailure = (error: unknown) => failures.push(error);
  const pruner = new HistoryPruner({ connection, keepDays: 30, pruneEveryMs, onFailure });
  onTestFinished(() => pruner.close());
  return { pruner, failures };
}

/** Adds hours of a key that are old enough to be deleted, at most 100,000. */
async function addOldHours(keyId: string, count: number): Promise<void> {
  await sql`
    insert into key_usage_hours (key_id, hour, outcome, count)
    select ${keyId}, ${daysAgo(31)}, n, 1 from generate_series(1, ${count}::int) n`.execute(database.owner);
}

/** How many pruners wait for a lock. */
async function countWaiting(): Promise<number | undefined> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where application_name = 'latchkey pruning' and datname = current_database() and wait_event_type = 'Lock'`.execute(
    database.owner,
  );
  return rows[0]?.count;
}

test("prunes old history on a timer, and visits all keys step by step", async () => {
  const recent = daysAgo(29);
  const { id: keyId, userId } = await addKey();
  await addOldHours(keyId, 2_500);
  await database.owner
    .insertInto("key_usage_hours")
    .values({ key_id: keyId, workspace_id: null, count: 1, hour: recent, outcome: "admitted" })
    .execute();
  // More live keys than one step visits come before the purged keys.
  const live = Array.from({ length: 120 }, () => createId("key"));
  await database.owner
    .insertInto("api_keys")
    .values(
      live.map((id) => ({
        id,
        user_id: userId,
        name: "key",
        description: "",
        start: "",
        hash: randomBytes(32),
      })),
    )
    .execute();
  const purged = Array.from({ length: 250 }, () => createId("key"));
  await database.owner
    .insertInto("key_addresses")
    .values(
      [keyId, ...live, ...purged].map((id) => ({ key_id: id, address: "192.0.2.1", last_seen_at: recent })),
    )
    .execute();
  const { failures } = openPruner(10);
  await expect.poll(async () => (await readHours(keyId)).length).toBe(1);
  const listKeys = async () =>
    (await database.owner.selectFrom("key_addresses").select("key_id").execute())
      .map((row) => row.key_id)
      .sort();
  await expect.poll(listKeys).toEqual([keyId, ...live].sort());
  // On a busy machine, Postgres can cancel a statement.
  expect(failures.filter((error) => !databaseFailure(error))).toEqual([]);
});

test("one round deletes a backlog of any length", async () => {
  const { id: keyId } = await addKey();
  await addOldHours(keyId, 30_500);
  const { pruner, failures } = openPruner();
  await pruner.run();
  // On a busy machine, Postgres can cancel a statement, which ends the round.
  while (failures.splice(0).some(databaseFailure)) await pruner.run();
  expect(await readHours(keyId)).toEqual([]);
});

test("a round without hours to delete visits 2,000 keys, and the next one the others", async () => {
  const purged = Array.from({ length: 2_150 }, () => createId("key"));
  await database.owner
    .insertInto("key_addresses")
    .values(purged.map((id) => ({ key_id: id, address: "192.0.2.1", last_seen_at: daysAgo(1) })))
    .execute();
  const { pruner, failures } = openPruner();
  const countLeft = async () =>
    (await database.owner.selectFrom("key_addresses").select("key_id").execute()).length;
  await pruner.run();
  const left = await countLeft();
  // On a busy machine, Postgres can cancel a statement, which ends the round earlier.
  if (failures.length === 0) expect(left).toBe(150);
  else expect(left).toBeGreaterThan(150);
  while ((await countLeft()) > 0) await pruner.run();
});

test("statistics are written while pruning waits, also the last ones before a stop", async () => {
  const { id: oldKeyId } = await addKey();
  await addOldHours(oldKeyId, 1);
  // Only pruning waits for this table: it skips locked rows, and nothing here writes tags.
  const release = await holdTable("keyspace_tag_hours");
  // With a fixed time, the new hours would be old enough to be deleted.
  const clock = { nowMs: () => Date.now(), synchronize: async () => undefined };
  const { recorder, failures } = openRecorder({ flushEveryMs: 10, pruneEveryMs: 10, keepDays: 30, clock });
  await expect.poll(countWaiting).toBe(1);
  const counted = createId("key");
  for (const count of [1, 2, 3]) {
    recorder.record(admitted(counted), request);
    await expect.poll(async () => (await readHours(counted))[0]?.count).toBe(count);
  }
  // If Postgres cancels the statement, the next round waits.
  await expect.poll(countWaiting).toBe(1);
  recorder.record(admitted(counted), request);
  await recorder.close();
  // On a busy machine, the last write can take longer than `close` waits for it.
  await expect.poll(async () => (await readHours(counted))[0]?.count).toBe(4);
  expect(await readHours(oldKeyId)).toHaveLength(1);
  expect(failures.filter((error) => !databaseFailure(error))).toEqual([]);
  await release();
});
