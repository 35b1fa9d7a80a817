import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { EventCounts } from "./event-counts.ts";

interface Line {
  readonly msg: string;
  readonly count: number;
  readonly err?: { readonly stack: string };
}

function createCounts() {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as Line);
      done();
    },
  });
  let nowMs = 0;
  const counts = new EventCounts({
    log: pino(stream),
    firstIntervalMs: 5_000,
    maxIntervalMs: 60_000,
    now: () => nowMs,
  });
  return {
    counts,
    add: (kind: string, facts: object = {}) =>
      counts.add({ kind, level: "warn", message: kind, facts, err: new Error("a bug") }),
    /** Passes time in ticks of 500 ms, and calls `during` before each. */
    pass(milliseconds: number, during: () => void = () => undefined) {
      for (const end = nowMs + milliseconds; nowMs < end; ) {
        during();
        nowMs += 500;
        counts.tick();
      }
    },
    /** The lines since the last call. */
    next: () => lines.splice(0),
  };
}

test("logs the first event with its stack, and later ones as counts in intervals from 5 s to 60 s", () => {
  const { add, pass, next } = createCounts();
  add("a", { requestId: "first" });
  expect(next()).toMatchObject([{ msg: "a", count: 1, requestId: "first", err: { message: "a bug" } }]);
  add("a");
  add("a", { requestId: "third" });
  pass(4_500);
  expect(next()).toEqual([]);
  pass(500);
  const [line] = next();
  expect(line).toMatchObject({ msg: "a", count: 2, requestId: "third" });
  expect(line).not.toHaveProperty("err");
  // 5 + 10 + 20 + 40 + 60 + 60 s; two events per second.
  pass(190_000, () => add("a"));
  expect(next().map(({ count }) => count)).toEqual([20, 40, 80, 120, 120]);
});

test("counts each kind separately", () => {
  const { add, pass, next } = createCounts();
  for (const kind of ["a", "b", "a", "b", "b"]) add(kind);
  pass(5_000);
  expect(next().map(({ msg, count }) => [msg, count])).toEqual([
    ["a", 1],
    ["b", 1],
    ["a", 1],
    ["b", 2],
  ]);
});

test("the counts of all lines add up to the number of events, however many kinds there are", () => {
  const { counts, add, pass, next } = createCounts();
  for (let round = 0; round < 3; round += 1) for (let kind = 0; kind < 1_000; kind += 1) add(`kind ${kind}`);
  pass(5_000);
  add("kind 1");
  add("kind 999");
  counts.flush();
  const lines = next();
  expect(lines.length).toBeLessThan(200);
  expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(3_002);
  expect(lines.filter(({ err }) => err)).toHaveLength(65);
  expect(counts.isPending).toBe(false);
});

test("logs a kind that hasn't occurred for ten minutes with its stack again, and frees its entry", () => {
  const { add, pass, next } = createCounts();
  for (let kind = 0; kind < 70; kind += 1) add(`kind ${kind}`);
  pass(5_000);
  next();
  pass(600_000);
  add("kind 1");
  add("a new kind");
  expect(next()).toMatchObject([
    { msg: "kind 1", err: {} },
    { msg: "a new kind", err: {} },
  ]);
});

test("an error that cannot be serialized is logged without its stack", () => {
  const { counts, next } = createCounts();
  const err = Object.defineProperty(new Error("a bug"), "stack", {
    get() {
      throw new Error("a bug in the getter");
    },
  });
  counts.add({ kind: "a", level: "error", message: "a", facts: {}, err });
  expect(next()).toMatchObject([{ msg: "a", count: 1 }]);
});
