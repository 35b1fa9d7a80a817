import { sql } from "kysely";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "./connection.ts";
import { ReconnectBackoff, type ReconnectBackoffOptions } from "./reconnect-backoff.ts";
import { createDatabaseGate } from "./testing/database-gate.ts";

const unavailable = new Error("unavailable");

function createBackoff(options: ReconnectBackoffOptions = {}) {
  let nowMs = 0;
  const backoff = new ReconnectBackoff({ now: () => nowMs, random: () => 0.999_999, ...options });
  return {
    backoff,
    pass(milliseconds: number) {
      nowMs += milliseconds;
    },
    /** Makes a failing attempt; returns the pause after it, in milliseconds. */
    async failAndMeasure(): Promise<number> {
      await expect(backoff.attempt(() => Promise.reject(unavailable))).rejects.toBe(unavailable);
      const failedAt = nowMs;
      while (!backoff.isDue) nowMs += 1;
      return nowMs - failedAt;
    },
  };
}

test("the pause doubles with every failure, up to one second, and starts over after a success", async () => {
  const { backoff, failAndMeasure } = createBackoff();
  const pauses: number[] = [];
  for (let round = 0; round < 7; round += 1) pauses.push(await failAndMeasure());
  expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
  expect(await backoff.attempt(async () => "connected")).toBe("connected");
  expect(await failAndMeasure()).toBe(100);
});

test("a caller can wait until an attempt is due, for a limited time", async () => {
  const backoff = new ReconnectBackoff({ firstMs: 50, maxMs: 50 });
  const fail = () => backoff.attempt(() => Promise.reject(unavailable));
  await expect(fail()).rejects.toBe(unavailable);
  let connections = 0;
  const connect = async () => {
    connections += 1;
    return connections;
  };
  const waiting = [backoff.attemptWhenDue(connect, 60_000), backoff.attemptWhenDue(connect, 60_000)];
  expect((await Promise.all(waiting)).toSorted()).toEqual([1, 2]);
  // The clock of this pause stands still.
  const { backoff: paused } = createBackoff();
  await expect(paused.attempt(() => Promise.reject(unavailable))).rejects.toBe(unavailable);
  await expect(paused.attemptWhenDue(connect, 0)).rejects.toBe(unavailable);
});

test("half of the pause is random", async () => {
  expect(await createBackoff({ random: () => 0 }).failAndMeasure()).toBe(50);
  expect(await createBackoff({ random: () => 0.5 }).failAndMeasure()).toBe(75);
});

test("attempts during the pause, or while another one is in flight, fail immediately with the last failure", async () => {
  const { backoff, failAndMeasure, pass } = createBackoff();
  let attempts = 0;
  const tryIt = () =>
    backoff.attempt(() => {
      attempts += 1;
      return Promise.reject(new Error(`attempt ${attempts}`));
    });
  await expect(tryIt()).rejects.toThrow("attempt 1");
  await expect(tryIt()).rejects.toThrow("attempt 1");
  pass(100);
  const outcomes = await Promise.allSettled([tryIt(), tryIt(), tryIt()]);
  expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message)).toEqual([
    "attempt 2",
    "attempt 1",
    "attempt 1",
  ]);
  expect(attempts).toBe(2);
  pass(200);
  expect(await failAndMeasure()).toBe(400);
});

test("concurrent attempts that started before the first failure count as one failure", async () => {
  const { backoff, pass, failAndMeasure } = createBackoff();
  const rejects = Array.from({ length: 10 }, () => Promise.withResolvers<never>());
  const attempts = rejects.map(({ promise }) => backoff.attempt(() => promise));
  pass(1);
  for (const { reject } of rejects) reject(unavailable);
  await Promise.allSettled(attempts);
  pass(100);
  expect(backoff.isDue).toBe(true);
  expect(await failAndMeasure()).toBe(200);
});

test("an attempt from before the first failure that ends during a retry doesn't admit a second retry", async () => {
  const { backoff, pass } = createBackoff();
  const [first, second, retry] = [1, 2, 3].map(() => Promise.withResolvers<never>());
  const attempts = [first, second].map((connect) => backoff.attempt(async () => connect?.promise));
  first?.reject(unavailable);
  await expect(attempts[0]).rejects.toBe(unavailable);
  pass(100);
  const retrying = backoff.attempt(async () => retry?.promise);
  second?.reject(new Error("late"));
  await expect(attempts[1]).rejects.toThrow("late");
  await expect(backoff.attempt(async () => "a second retry")).rejects.toBe(unavailable);
  retry?.reject(unavailable);
  await expect(retrying).rejects.toBe(unavailable);
});

test("a pool makes few attempts to reach an unavailable database, and connects soon after it is available again", async () => {
  const gate = await createDatabaseGate({ ...inject("postgres"), database: "postgres" });
  onTestFinished(gate.close);
  const db = openDatabase(gate.connection, { applicationName: "test", role: "login" });
  onTestFinished(() => db.destroy());
  const query = () => sql`select 1 as one`.execute(db);
  const startedAt = performance.now();
  let failures = 0;
  while (performance.now() < startedAt + 1_000 || failures <= 100) {
    await expect(query()).rejects.toThrow("Connection terminated unexpectedly");
    failures += 1;
  }
  // The pauses grow to between half a second and a second.
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(gate.arrivals()).toBeGreaterThan(1);
  expect(gate.arrivals()).toBeLessThan(6 + 2 * seconds);
  gate.open();
  await expect.poll(query, { interval: 20 }).toMatchObject({ rows: [{ one: 1 }] });
});
