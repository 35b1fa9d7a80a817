import { expect, test } from "vitest";
import { splitOnFailure } from "./split-on-failure.ts";

const harmless = new Error("rolled back");
const unknownOutcome = new Error("the connection broke");

/** Works on numbers, of which some always fail. */
async function work(
  items: readonly number[],
  options: { readonly failing?: readonly number[]; readonly fatal?: number; readonly maxRuns?: number } = {},
) {
  const { failing = [], fatal, maxRuns = 64 } = options;
  const done: number[] = [];
  const failed: number[][] = [];
  let runs = 0;
  const left = await splitOnFailure(items, {
    async run(part) {
      runs += 1;
      if (fatal !== undefined && part.includes(fatal)) throw unknownOutcome;
      if (part.some((item) => failing.includes(item))) throw harmless;
      done.push(...part);
    },
    isPending: (item) => !done.includes(item) && !failed.flat().includes(item),
    hadNoEffect: (error) => error === harmless,
    fail: (part) => failed.push([...part]),
    maxRuns,
  });
  return { done, failed, left, runs };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test("one run is enough for a list that doesn't fail, and none for an empty one", async () => {
  expect(await work(numbers(5))).toEqual({ done: numbers(5), failed: [], left: [], runs: 1 });
  expect(await work([])).toEqual({ done: [], failed: [], left: [], runs: 0 });
});

test("an item that always fails among 1,024 fails alone, after at most 21 runs, and the others keep their order", async () => {
  for (const index of [0, 511, 1_023]) {
    const { done, failed, left, runs } = await work(numbers(1_024), { failing: [index] });
    expect(failed).toEqual([[index]]);
    expect(done).toEqual(numbers(1_024).filter((item) => item !== index));
    expect(left).toEqual([]);
    expect(runs).toBeLessThanOrEqual(21);
  }
});

test("several items that fail are found each", async () => {
  expect((await work(numbers(16), { failing: [3, 4, 12] })).failed).toEqual([[3], [4], [12]]);
});

test("what is left after the most runs is returned", async () => {
  const { done, failed, left, runs } = await work(numbers(8), { failing: numbers(8), maxRuns: 5 });
  expect(runs).toBe(5);
  expect([...done, ...failed.flat(), ...left].sort()).toEqual(numbers(8));
  expect(failed).toEqual([[0], [1]]);
});

test("a failure that may have had an effect fails its part, and nothing else is tried", async () => {
  expect(await work(numbers(4), { failing: [0], fatal: 1 })).toEqual({
    done: [],
    failed: [[0, 1, 2, 3]],
    left: [],
    runs: 1,
  });
});

test("an item that was settled before its part failed isn't worked on again, and isn't left", async () => {
  for (const [maxRuns, expected] of [
    [64, [[0, 1, 2, 3], [0], [2, 3]]],
    [1, [[0, 1, 2, 3]]],
  ] as const) {
    const parts: number[][] = [];
    const left = await splitOnFailure([0, 1, 2, 3], {
      async run(part) {
        parts.push([...part]);
        if (parts.length === 1) throw harmless;
      },
      isPending: (item) => parts.length === 0 || item !== 1,
      hadNoEffect: (error) => error === harmless,
      fail: () => undefined,
      maxRuns,
    });
    expect(parts).toEqual(expected);
    expect(left).toEqual(maxRuns === 1 ? [0, 2, 3] : []);
  }
});
