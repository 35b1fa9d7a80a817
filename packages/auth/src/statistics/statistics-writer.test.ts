import { expect, inject, onTestFinished, test, vi } from "vitest";
import { type StatisticsSource, StatisticsWriter } from "./statistics-writer.ts";

// When a writer writes. Its source only counts the writes.

/** @param write writes a part of the source's data, all parts of which are full. */
function openWriter(write: () => Promise<void>, { parts = Number.POSITIVE_INFINITY } = {}) {
  const events: ("tick" | "write")[] = [];
  let left = parts;
  const source: StatisticsSource = {
    get pendingCount() {
      return left;
    },
    setTime: () => events.push("tick"),
    take: () => ({
      async write() {
        events.push("write");
        await write();
      },
      isFull: true,
      settle: () => {
        left -= 1;
      },
    }),
  };
  const clock = { nowMs: () => 0, synchronize: async () => undefined };
  const writer = new StatisticsWriter({ connection: inject("postgres"), clock, flushEveryMs: 10 }, [source]);
  onTestFinished(() => writer.close());
  return { writer, countWrites: () => events.filter((event) => event === "write").length, events };
}

test("writes all full parts of the data without waiting for the next tick", async () => {
  const { countWrites, events } = openWriter(async () => undefined, { parts: 20 });
  await expect.poll(countWrites).toBe(20);
  const first = events.indexOf("write");
  expect(events.slice(first, first + 20)).toEqual(Array.from({ length: 20 }, () => "write"));
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
  const groups = events.join(" ").split(/(?: ?tick ?)+/);
  expect(groups.filter((group) => group !== "")).toEqual(
    Array.from({ length: 10 }, () => "write write write"),
  );
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
