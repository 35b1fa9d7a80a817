import { expect, test } from "vitest";
import { TaskQueue } from "./task-queue.ts";

test("a task starts when all earlier ones have ended, even if they failed", async () => {
  const queue = new TaskQueue();
  const events: string[] = [];
  const first = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const results = [
    queue.run(() => {
      started.resolve();
      return first.promise;
    }),
    queue.run(async () => {
      events.push("second");
      throw new Error("failed");
    }),
    queue.run(async () => {
      events.push("third");
      return "three";
    }),
  ];
  await started.promise;
  expect(events).toEqual([]);
  first.resolve("one");
  expect(await Promise.allSettled(results)).toEqual([
    { status: "fulfilled", value: "one" },
    { status: "rejected", reason: new Error("failed") },
    { status: "fulfilled", value: "three" },
  ]);
  expect(events).toEqual(["second", "third"]);
});
