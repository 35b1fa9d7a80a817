import type { Db } from "@latchkey/db/schema";
import { isReadOnlyServer } from "@latchkey/db/sqlstate";
import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { sql } from "kysely";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { type StatisticsOptions, type StatisticsSource, StatisticsWriter } from "./statistics-writer.ts";

// When a writer writes. Its source only counts the writes.

/** @param write writes a part of the source's data, all parts of which are full. */
function openWriter(
  write: (db: Db) => Promise<void>,
  {
    parts = Number.POSITIVE_INFINITY,
    ...options
  }: Partial<StatisticsOptions> & { readonly parts?: number } = {},
) {
  const events: ("tick" | "write")[] = [];
  let left = parts;
  const source: StatisticsSource = {
    get pendingCount() {
      return left;
    },
    setTime: () => events.push("tick"),
    take: () => ({
      async write(db) {
        events.push("write");
        await write(db);
      },
      isFull: true,
      settle: () => {
        left -= 1;
      },
    }),
  };
  const clock = { nowMs: () => 0, synchronize: async () => undefined };
  const writer = new StatisticsWriter(
    { connection: inject("postgres"), clock, flushEveryMs: 10, ...options },
    [source],
  );
  onTestFinished(() => writer.close());
  return { writer, countWrites: () => events.filter((event) => event === "write").length, events };
}

/** The numbers of writes between two ticks, without those that are 0. */
function countPerTick(events: readonly ("tick" | "write")[]): number[] {
  return events
    .join(" ")
    .split("tick")
    .map((group) => group.split("write").length - 1)
    .filter((count) => count > 0);
}

test("writes all full parts of the data without waiting for the next tick", async () => {
  vi.spyOn(performance, "now").mockReturnValue(performance.now()); // A busy machine can take longer than 700 ms.
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const { countWrites, events } = openWriter(async () => undefined, { parts: 20 });
  await expect.poll(countWrites).toBe(20);
  expect(countPerTick(events)).toEqual([20]);
});

test("drops one part per tick while Postgres rejects the data", async () => {
  const { countWrites, events } = openWriter(() => Promise.reject(new Error("permission denied")), {
    parts: 3,
  });
  await expect.poll(countWrites).toBe(3);
  expect(countPerTick(events)).toEqual([1, 1, 1]);
});

test("pauses until the next tick after it has written for 700 ms", async () => {
  let now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const write = async () => {
    now += 250;
  };
  const { countWrites, events } = openWriter(write, { parts: 30 });
  await expect.poll(countWrites).toBe(30);
  expect(countPerTick(events)).toEqual(Array.from({ length: 10 }, () => 3));
});

test("delayed writes do not accumulate", async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const { writer, countWrites, events } = openWriter(() => promise);
  await expect.poll(countWrites).toBe(1);
  const ticks = events.length;
  await expect.poll(() => events.length).toBeGreaterThan(ticks + 5);
  reject(new Error("Connection terminated unexpectedly"));
  await writer.close();
  // The one that was in flight, and the last one.
  expect(countWrites()).toBe(2);
});

test("sends a standby no statement, and writes once the server's name leads to a primary", async () => {
  const gate = await createDatabaseGate(inject("postgres"));
  onTestFinished(gate.close);
  gate.open();
  gate.leadTo(inject("postgres"), { claimsStandby: true });
  let written = 0;
  const failures: unknown[] = [];
  const write = async (db: Db) => {
    await sql`select`.execute(db);
    written += 1;
  };
  openWriter(write, {
    parts: 1,
    connection: gate.connection,
    onFailure: (error) => failures.push(error),
  });
  await expect.poll(() => failures.at(-1)).toSatisfy(isReadOnlyServer);
  expect(written).toBe(0);
  gate.leadTo(inject("postgres"));
  await expect.poll(() => written).toBe(1);
});
