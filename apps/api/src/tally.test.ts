import { expect, onTestFinished, test, vi } from "vitest";
import { createTally } from "./tally.ts";

test("writes the first occurrence at once, and then once a second how many there were", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: unknown[] = [];
  const tally = createTally<{ name: string }>((facts) => written.push(facts));
  const next = (): unknown[] => written.splice(0);
  tally({ name: "a" });
  expect(next()).toEqual([{ name: "a", count: 1 }]);
  for (const name of ["b", "c", "d"]) tally({ name });
  vi.advanceTimersByTime(999);
  expect(next()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(next()).toEqual([{ name: "d", count: 3 }]);
  tally({ name: "e" });
  vi.advanceTimersByTime(1_000);
  expect(next()).toEqual([{ name: "e", count: 1 }]);
  vi.advanceTimersByTime(10_000);
  expect(next()).toEqual([]);
  tally({ name: "f" });
  expect(next()).toEqual([{ name: "f", count: 1 }]);
});
