import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { DatabaseClock } from "./database-clock.ts";

const hourMs = 3_600_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  // Statements find this function before that of Postgres.
  await sql`
    create function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + current_setting(''test.offset'')::interval'`.execute(
    database.owner,
  );
});
afterAll(() => database.drop());

/** Runs a callback on a connection whose clock is ahead by the number of hours that the callback sets. */
async function withDatabaseClock(
  work: (db: TestDatabase["db"], setAhead: (hours: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  await database.owner.connection().execute(async (db) => {
    await sql`set search_path = public, pg_catalog`.execute(db);
    const setAhead = async (hours: number) => {
      await sql`select set_config('test.offset', ${`${hours} hours`}, false)`.execute(db);
    };
    await work(db, setAhead);
  });
}

async function readTime(db: TestDatabase["db"]): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now.getTime() ?? Number.NaN;
}

test.each([-1, 1])("returns the database's time if the node's differs by %d hours", async (hours) => {
  await withDatabaseClock(async (db, setAhead) => {
    await setAhead(hours);
    const before = await readTime(db);
    const startedAt = performance.now();
    const clock = await DatabaseClock.read(db);
    const errorMs = (performance.now() - startedAt) / 2 + 1;
    const now = clock.nowMs();
    expect(Math.abs(now - Date.now() - hours * hourMs)).toBeLessThan(hourMs / 2);
    expect(now).toBeGreaterThanOrEqual(before - errorMs);
    expect(now).toBeLessThanOrEqual((await readTime(db)) + errorMs);
  });
});

test("advances in whole milliseconds with the monotonic clock, whatever happens to the node's date", async () => {
  await withDatabaseClock(async (db, setAhead) => {
    await setAhead(0);
    let monotonicMs = 12.34;
    const clock = await DatabaseClock.read(db, () => monotonicMs);
    const startedAt = clock.nowMs();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hourMs });
    onTestFinished(() => void vi.useRealTimers());
    monotonicMs += 1_000;
    expect(clock.nowMs()).toBe(startedAt + 1_000);
    monotonicMs += 0.75;
    expect(Number.isInteger(clock.nowMs())).toBe(true);
  });
});

test("assumes that the database read its time in the middle of the round trip", async () => {
  await withDatabaseClock(async (db, setAhead) => {
    await setAhead(0);
    const times = [1_000, 1_400];
    const before = await readTime(db);
    const clock = await DatabaseClock.read(db, () => times.shift() ?? 1_200);
    expect(clock.nowMs()).toBeGreaterThanOrEqual(before);
    expect(clock.nowMs()).toBeLessThanOrEqual(await readTime(db));
  });
});

test("follows the database's clock when it is set, and continues while the database is unavailable", async () => {
  await withDatabaseClock(async (db, setAhead) => {
    await setAhead(0);
    const clock = await DatabaseClock.read(db);
    const startedAt = clock.nowMs();
    await setAhead(-1);
    await clock.synchronize(db);
    const setBack = clock.nowMs();
    expect(setBack).toBeLessThan(startedAt - hourMs / 2);
    await sql`select set_config('test.offset', 'nonsense', false)`.execute(db);
    await expect(clock.synchronize(db)).rejects.toThrow("invalid input syntax");
    expect(clock.nowMs()).toBeGreaterThanOrEqual(setBack);
    expect(clock.nowMs()).toBeLessThan(startedAt);
  });
});
