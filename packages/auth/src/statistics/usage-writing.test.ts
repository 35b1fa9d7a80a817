import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { createId, type KeyId, type WorkspaceId } from "@latchkey/db/ids";
import { listKeyAddresses, listKeyRejections } from "@latchkey/db/key-history";
import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { patientMs } from "../admission/admission.test-kit.ts";
import { admitted, recorderKit, rejected, request } from "./usage-recorder.test-kit.ts";

// How a recorder writes in various states of Postgres.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openRecorder, readHours, addOldSecret, holdHours, countConnections } = recorderKit(() => database);

async function sum(keyId: KeyId): Promise<number> {
  return (await readHours(keyId)).reduce((total, { count }) => total + count, 0);
}

test("keeps what it can't write while Postgres is unavailable, and writes all of it afterwards", async () => {
  const { keyId, digest, read } = await addOldSecret();
  const { recorder, clock, failures } = openRecorder();
  const use = () => {
    recorder.record(admitted(keyId, digest), request);
    recorder.record(rejected(keyId, "rotated-out", digest), request);
  };
  use();
  await recorder.flush();
  await database.setAvailable(false);
  use();
  for (let round = 0; round < 3; round += 1) {
    await recorder.flush();
    use();
  }
  expect(failures.length).toBeGreaterThan(0);
  await database.setAvailable(true);
  await recorder.flush();
  expect((await readHours(keyId)).map(({ outcome, count }) => [outcome, count])).toEqual([
    ["admitted", 5],
    ["rotated-out", 5],
  ]);
  expect(await listKeyRejections(database.db, keyId)).toHaveLength(5);
  expect(await listKeyAddresses(database.db, keyId)).toHaveLength(1);
  expect(await read()).toMatchObject({ usedAt: clock.now, rejectedAt: clock.now });
});

test("neither loses nor doubles requests that are recorded while a flush is in flight", async () => {
  const recordDuringFlush = async () => {
    const keyId = createId("key");
    const { recorder, failures } = openRecorder();
    recorder.record(rejected(keyId, "disabled"), request);
    await recorder.flush();
    const release = await holdHours(keyId);
    recorder.record(rejected(keyId, "disabled"), request);
    const flushing = recorder.flush();
    const isWaiting = async () => (await countConnections())?.waiting === 1;
    await expect.poll(async () => failures.length > 0 || (await isWaiting())).toBe(true);
    recorder.record(rejected(keyId, "disabled"), request);
    await release();
    await flushing;
    return { keyId, recorder, failures };
  };
  // On a busy machine, the flush can reach its lock timeout, so there are up to five attempts.
  let last = await recordDuringFlush();
  for (let attempt = 2; attempt <= 5 && last.failures.length > 0; attempt += 1)
    last = await recordDuringFlush();
  const { keyId, recorder, failures } = last;
  expect(await sum(keyId)).toBe(2);
  await recorder.flush();
  await recorder.flush();
  expect(await sum(keyId)).toBe(3);
  expect(await listKeyRejections(database.db, keyId)).toHaveLength(3);
  expect(failures).toEqual([]);
});

test("writes what it could not write because of a lock after the lock is released", async () => {
  const keyId = createId("key");
  const { recorder, failures } = openRecorder();
  recorder.record(admitted(keyId), request);
  await recorder.flush();
  const release = await holdHours(keyId);
  recorder.record(admitted(keyId), request);
  await recorder.flush();
  expect(failures).toHaveLength(1);
  await release();
  await recorder.flush();
  expect(await sum(keyId)).toBe(2);
});

test("drops data that Postgres rejects, so that it does not block later data", async () => {
  const keyId = createId("key");
  const { recorder, failures } = openRecorder();
  recorder.record(admitted(keyId), { ...request, workspaceId: "no workspace" as WorkspaceId });
  recorder.record(rejected(keyId, "expired"), request);
  await recorder.flush();
  expect(failures).toHaveLength(1);
  recorder.record(admitted(keyId), request);
  await recorder.flush();
  expect(failures).toHaveLength(1);
  expect(await sum(keyId)).toBe(1);
});

test("makes few attempts to reach an unavailable Postgres, and writes within five seconds after it is available again", async () => {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  const keyId = createId("key");
  const { recorder, failures } = openRecorder({ connection: gate.connection, flushEveryMs: 10 });
  recorder.record(admitted(keyId), request);
  const startedAt = performance.now();
  await expect.poll(() => failures.length, { interval: 10 }).toBeGreaterThanOrEqual(3);
  // Two pauses, of at least 500 and 1,000 ms; without them there would be an attempt every 10 ms.
  expect(performance.now() - startedAt).toBeGreaterThan(1_400);
  expect(gate.arrivals()).toBe(failures.length);
  gate.open();
  await expect.poll(() => sum(keyId)).toBe(1);
});

test("writes automatically, one flush at a time", async () => {
  const keyId = createId("key");
  const { recorder } = openRecorder({ flushEveryMs: 10 });
  recorder.record(admitted(keyId), request);
  await expect.poll(() => sum(keyId)).toBe(1);
  const release = await holdHours(keyId);
  recorder.record(admitted(keyId), request);
  await expect.poll(countConnections).toMatchObject({ waiting: 1 });
  for (let count = 0; count < 10; count += 1) {
    recorder.record(admitted(keyId), request);
    await delay(10);
  }
  // On a busy machine, the write can reach its lock timeout. It's then repeated on a new connection.
  await expect.poll(countConnections).toEqual({ all: 1, waiting: 1 });
  await release();
  await expect.poll(() => sum(keyId)).toBe(12);
});

test("close writes what it could not write because of a lock, if the lock is released in time", async () => {
  const closeWithLock = async () => {
    const keyId = createId("key");
    const { recorder, failures } = openRecorder({ lastFlushMs: patientMs });
    recorder.record(admitted(keyId), request);
    await recorder.flush();
    const release = await holdHours(keyId);
    recorder.record(admitted(keyId), request);
    const closing = recorder.close();
    await expect.poll(() => failures.length).toBeGreaterThan(0);
    await release();
    await closing;
    return { keyId, failures };
  };
  // On a busy machine, a connection can also time out, so there are up to five attempts.
  let last = await closeWithLock();
  for (let attempt = 2; attempt <= 5 && last.failures.length > 1; attempt += 1) last = await closeWithLock();
  expect(await sum(last.keyId)).toBe(2);
});

test("close writes everything, even more than fits in one write, and leaves no connection", async () => {
  const closeWithKeys = async (keyIds: readonly KeyId[]) => {
    const { recorder, failures } = openRecorder({ lastFlushMs: patientMs });
    for (const keyId of keyIds) recorder.record(admitted(keyId), request);
    await recorder.close();
    return failures.length;
  };
  // A write has at most 1,000 rows of each kind. On a busy machine, a connection can time out, so there are up to five attempts.
  let keyIds: readonly KeyId[] = [];
  for (let attempt = 1, failures = 1; attempt <= 5 && failures > 0; attempt += 1) {
    keyIds = Array.from({ length: 1_100 }, () => createId("key"));
    failures = await closeWithKeys(keyIds);
  }
  const { rows } = await sql<{ hours: number; addresses: number }>`
    select
      (select count(*) from key_usage_hours where key_id = any(${keyIds}::uuid[])) as hours,
      (select count(*) from key_addresses where key_id = any(${keyIds}::uuid[])) as addresses`.execute(
    database.owner,
  );
  expect(rows).toEqual([{ hours: 1_100, addresses: 1_100 }]);
  await expect.poll(countConnections).toMatchObject({ all: 0 });
});

test("close does not wait for an unavailable Postgres", async () => {
  const { recorder, failures } = openRecorder();
  recorder.record(admitted(createId("key")), request);
  await database.setAvailable(false);
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(() => setImmediate());
  await recorder.close();
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(2_000 + (await stopMeasuring()));
  expect(failures).toHaveLength(1);
  await database.setAvailable(true);
});

test("close does not wait long for a slow Postgres", async () => {
  const keyId = createId("key");
  const { recorder } = openRecorder();
  recorder.record(admitted(keyId), request);
  // Connects. On a busy machine, an attempt of `close` to connect could fail, which would end it early.
  await expect
    .poll(async () => {
      await recorder.flush();
      return await sum(keyId);
    })
    .toBeGreaterThan(0);
  await sql`
    create function sleepOnInsert() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(4);
      return new;
    end $$`.execute(database.owner);
  await sql`
    create trigger sleepOnInsert before insert on key_usage_hours for each row execute function sleepOnInsert()`.execute(
    database.owner,
  );
  onTestFinished(async () => {
    await sql`drop function sleepOnInsert cascade`.execute(database.owner);
  });
  recorder.record(admitted(keyId), request);
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(() => setImmediate());
  await recorder.close();
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThan(1_900);
  expect(tookMs).toBeLessThan(3_300 + (await stopMeasuring()));
});

test("synchronizes its clock every minute, even after the clock was set back or the database was unavailable", async () => {
  const hourMs = 3_600_000;
  const keyId = createId("key");
  let nowMs = Date.parse("2026-03-02T12:30:00Z");
  const steps = [-hourMs, new Error("unavailable"), 0];
  const synchronized: number[] = [];
  const clock = {
    nowMs: () => nowMs,
    async synchronize() {
      synchronized.push(nowMs);
      const step = steps.shift() ?? 0;
      if (step instanceof Error) throw step;
      nowMs += step;
    },
  };
  const { recorder, failures } = openRecorder({ flushEveryMs: 10, clock });
  for (const count of [1, 2, 3]) {
    nowMs += 60_000;
    await expect.poll(() => synchronized.length).toBe(count);
    recorder.record(admitted(keyId), request);
    await recorder.flush();
  }
  const [first, second, third] = synchronized.map((ms) => new Date(ms).toISOString());
  expect([first, second, third]).toEqual([
    "2026-03-02T12:31:00.000Z",
    "2026-03-02T11:32:00.000Z",
    "2026-03-02T11:33:00.000Z",
  ]);
  expect((await readHours(keyId)).map(({ hour, count }) => [hour.toISOString(), count])).toEqual([
    ["2026-03-02T11:00:00.000Z", 3],
  ]);
  expect(failures).toEqual([new Error("unavailable")]);
});
