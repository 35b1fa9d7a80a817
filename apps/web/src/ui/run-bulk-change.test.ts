import { expect, test, vi } from "vitest";
import { runBulkChange } from "./run-bulk-change.ts";

const names = Array.from({ length: 25 }, (_, index) => `Key ${index}`);
const denied = { code: "FORBIDDEN", message: "Confirm that it’s you to continue." };

/** Runs a change whose items fail as the function says. */
async function runAll(failureOf: (index: number) => unknown) {
  const run = vi.fn(async (index: number) => {
    const failure = failureOf(index);
    if (failure) throw failure;
    return { isChanged: true };
  });
  const onProgress = vi.fn();
  const describeError = (error: unknown) => error as typeof denied; // What `failureOf` returned.
  const runs = names.map((_, index) => () => run(index));
  const result = await runBulkChange({ names, runs, describeError }, onProgress);
  return { result, runCount: run.mock.calls.length, progress: onProgress.mock.calls.flat() };
}

test("changes the other items if one fails", async () => {
  const { result, runCount, progress } = await runAll((index) => index === 3 && denied);
  expect([result.done, runCount, progress]).toEqual([24, 25, [9, 19, 24]]);
  expect(result.failures).toEqual([{ ...denied, index: 3 }]);
});

test("stops after a chunk that was rejected as a whole, such as after the question for the password was canceled", async () => {
  const { result, runCount } = await runAll((index) => index >= 10 && denied);
  expect([result.done, runCount]).toEqual([10, 20]);
  expect(result.failures).toEqual(names.slice(10).map((_, offset) => ({ ...denied, index: 10 + offset })));
});

test.each([
  ["for reasons that concern single items", () => ({ code: "CONFLICT", message: "The key was changed." })],
  ["for different reasons", (index: number) => ({ ...denied, message: `Reason ${index % 2}` })],
])("continues after a chunk that failed as a whole %s", async (_reasons, failureOf) => {
  const { result, runCount } = await runAll(failureOf);
  expect([result.failures.length, runCount]).toEqual([25, 25]);
});
