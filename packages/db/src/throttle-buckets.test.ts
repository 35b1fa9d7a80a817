import { createHash, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { countWaiting } from "./testing/count-waiting.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { type BucketUse, consumeFromBuckets, returnTokens } from "./throttle-buckets.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

function createBucket(capacity = 3, refillSeconds = 100): BucketUse {
  return { digest: createHash("sha256").update(randomUUID()).digest(), capacity, refillSeconds };
}

const take = (...uses: BucketUse[]) => consumeFromBuckets(database.db, uses);

/** Lets this many seconds pass for a bucket. */
async function age({ digest }: BucketUse, seconds: number): Promise<void> {
  await sql`
    update throttle_buckets set full_at = full_at - make_interval(secs => ${seconds})
    where digest = ${digest}`.execute(database.owner);
}

/** When each bucket will be full again, in milliseconds since 1970. */
async function readFullAt(...buckets: readonly BucketUse[]): Promise<number[]> {
  return await Promise.all(
    buckets.map(async ({ digest }) => {
      const { rows } = await sql<{ fullAt: Date }>`
        select full_at as "fullAt" from throttle_buckets where digest = ${digest}`.execute(database.owner);
      return rows[0]?.fullAt.getTime() ?? Number.NaN;
    }),
  );
}

test("a full bucket allows its capacity immediately, and then one token per refill time", async () => {
  const bucket = createBucket();
  for (let count = 0; count < 3; count += 1) expect(await take(bucket)).toBe(0);
  const waitSeconds = await take(bucket);
  expect(waitSeconds).toBeGreaterThan(90);
  expect(waitSeconds).toBeLessThanOrEqual(100);
  await age(bucket, waitSeconds);
  expect(await take(bucket)).toBe(0);
  expect(await take(bucket)).toBeGreaterThan(90);
});

test("a bucket has no more than its capacity after a long time", async () => {
  const bucket = createBucket();
  expect(await take(bucket)).toBe(0);
  await age(bucket, 100_000);
  for (let count = 0; count < 3; count += 1) expect(await take(bucket)).toBe(0);
  expect(await take(bucket)).toBeGreaterThan(0);
});

test("an attempt takes from all of its buckets or from none", async () => {
  const [empty, full] = [createBucket(1), createBucket(2)];
  expect(await take(empty)).toBe(0);
  for (let count = 0; count < 5; count += 1) expect(await take(full, empty)).toBeGreaterThan(0);
  expect(await take(full)).toBe(0);
  expect(await take(full)).toBe(0);
  expect(await take(full)).toBeGreaterThan(0);
});

test("the wait is that of the bucket that refills last", async () => {
  const [quick, slow] = [createBucket(1, 10), createBucket(1, 1_000)];
  expect(await take(quick, slow)).toBe(0);
  expect(await take(quick, slow)).toBeGreaterThan(900);
});

test("a returned token can be taken again", async () => {
  const [one, other] = [createBucket(1), createBucket(1)];
  expect(await take(one, other)).toBe(0);
  await returnTokens(database.db, [one, other]);
  expect(await take(one, other)).toBe(0);
  expect(await take(one)).toBeGreaterThan(0);
});

test("concurrent attempts take exactly the available tokens, in whatever order they list their buckets", async () => {
  const [shared, other] = [createBucket(7), createBucket(5)];
  const waits = await Promise.all(
    Array.from({ length: 40 }, (_, index) => (index % 2 ? take(shared, other) : take(other, shared))),
  );
  expect(waits.filter((seconds) => seconds === 0)).toHaveLength(5);
  // A rejected attempt has returned what it took from one bucket before it found the other one empty.
  const more = await Promise.all(Array.from({ length: 10 }, () => take(shared)));
  expect(more.filter((seconds) => seconds === 0)).toHaveLength(2);
});

test("an attempt that is too late for the last token returns exactly what it took to each bucket", async () => {
  const [scarce, plenty] = [createBucket(2, 100), createBucket(5, 70)];
  expect(await take(scarce, plenty)).toBe(0);
  const before = await readFullAt(scarce, plenty);
  let attempts: Promise<number[]> | undefined;
  await database.owner.transaction().execute(async (trx) => {
    await sql`
      select from throttle_buckets where digest in (${scarce.digest}, ${plenty.digest})
      order by digest for update`.execute(trx);
    // Both see the last token of the scarce bucket, and then wait for its row.
    attempts = Promise.all([take(scarce, plenty), take(plenty, scarce)]);
    await expect.poll(() => countWaiting(database.owner)).toBe(2);
  });
  const waits = ((await attempts) ?? []).toSorted((one, other) => one - other);
  expect(waits).toEqual([0, expect.any(Number)]);
  expect(waits[1]).toBeGreaterThan(90);
  expect(waits[1]).toBeLessThanOrEqual(100);
  const after = await readFullAt(scarce, plenty);
  expect(after.map((atMs, index) => (atMs - (before[index] ?? 0)) / 1_000)).toEqual([100, 70]);
});

test("concurrent attempts and returns don't deadlock", async () => {
  const buckets = [createBucket(100), createBucket(100), createBucket(100)];
  await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const uses = index % 2 ? buckets : buckets.toReversed();
      expect(await consumeFromBuckets(database.db, uses)).toBe(0);
      await returnTokens(database.db, uses);
    }),
  );
});
