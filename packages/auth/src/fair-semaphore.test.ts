import { setImmediate as tick } from "node:timers/promises";
import { AppError } from "@latchkey/errors";
import { expect, onTestFinished, test, vi } from "vitest";
import { FairSemaphore } from "./fair-semaphore.ts";

const noDeadline = Number.POSITIVE_INFINITY;

/** Tasks that end on command, and the names of those that have started, in order. */
function createTasks() {
  const ends = new Map<string, () => void>();
  const started: string[] = [];
  let running = 0;
  let mostRunning = 0;
  return {
    started,
    mostRunning: () => mostRunning,
    task: (name: string) => async () => {
      started.push(name);
      running += 1;
      mostRunning = Math.max(mostRunning, running);
      await new Promise<void>((end) => ends.set(name, end));
      running -= 1;
      return name;
    },
    /** Ends a task, and waits until the tasks that can start because of it have started. */
    async end(name: string) {
      ends.get(name)?.();
      await tick();
    },
  };
}

test("runs as many tasks as allowed, and the others in the order of their arrival", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 2, maxWaitingPerKey: 10 });
  const { task, end, started, mostRunning } = createTasks();
  const names = ["a", "b", "c", "d", "e"];
  const all = Promise.all(names.map((name) => semaphore.run("key", noDeadline, task(name))));
  await tick();
  expect(started).toEqual(["a", "b"]);
  for (const name of names) await end(name);
  expect(await all).toEqual(names);
  expect([started, mostRunning()]).toEqual([names, 2]);
});

test("a free slot goes to the waiting task, not to one that arrives at that moment", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const first = semaphore.run("key", noDeadline, async () => undefined);
  const second = semaphore.run("key", noDeadline, task("second"));
  const third = first.then(() => semaphore.run("key", noDeadline, task("third")));
  await first;
  await tick();
  expect(started).toEqual(["second"]);
  await end("second");
  await end("third");
  await Promise.all([second, third]);
});

test("keys alternate: many tasks of one key delay another key by one task", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["crowd-1", "crowd-2", "crowd-3", "crowd-4"].map((name) =>
    semaphore.run("crowd", noDeadline, task(name)),
  );
  all.push(semaphore.run("ada", noDeadline, task("ada-1")), semaphore.run("ada", noDeadline, task("ada-2")));
  const order = ["crowd-1", "ada-1", "crowd-2", "ada-2", "crowd-3", "crowd-4"];
  for (const name of order) await end(name);
  await Promise.all(all);
  expect(started).toEqual(order);
});

test("runs as many tasks of one key as allowed, and keys don't wait for each other", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunningPerKey: 2, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["a", "b", "c"].map((name) => semaphore.run("ada", noDeadline, task(name)));
  all.push(semaphore.run("grace", noDeadline, task("d")));
  await tick();
  expect(started).toEqual(["a", "b", "d"]);
  for (const name of ["d", "a", "b", "c"]) await end(name);
  await Promise.all(all);
});

test("a key at its limit does not keep other keys from free slots", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 2, maxRunningPerKey: 1, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["a", "b"].map((name) => semaphore.run("ada", noDeadline, task(name)));
  all.push(...["c", "d"].map((name) => semaphore.run("grace", noDeadline, task(name))));
  await tick();
  expect(started).toEqual(["a", "c"]);
  await end("c");
  expect(started).toEqual(["a", "c", "d"]);
  for (const name of ["a", "b", "d"]) await end(name);
  await Promise.all(all);
});

test("a key stays within its limit while its tasks end, and is forgotten after the last one", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunningPerKey: 2, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["a", "b", "c"].map((name) => semaphore.run("ada", noDeadline, task(name)));
  await end("a");
  all.push(semaphore.run("ada", noDeadline, task("d")));
  await tick();
  expect(started).toEqual(["a", "b", "c"]);
  for (const name of ["b", "c", "d"]) {
    expect(semaphore.keyCount).toBe(1);
    await end(name);
  }
  await Promise.all(all);
  expect(semaphore.keyCount).toBe(0);
});

test("a slot that another key frees isn't used by a key at its limit", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 3, maxRunningPerKey: 1, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["a", "b", "c"].map((name) => semaphore.run("ada", noDeadline, task(name)));
  all.push(semaphore.run("grace", noDeadline, task("d")));
  await end("a");
  await end("d");
  expect(started).toEqual(["a", "d", "b"]);
  for (const name of ["b", "c"]) await end(name);
  await Promise.all(all);
});

test("a free slot isn't offered to a key whose last task has started", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 2, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = [semaphore.run("hedy", noDeadline, task("h"))];
  all.push(...["a", "b"].map((name) => semaphore.run("ada", noDeadline, task(name))));
  await end("a");
  all.push(semaphore.run("grace", noDeadline, task("g")));
  await end("h");
  expect(started).toEqual(["h", "a", "b", "g"]);
  for (const name of ["b", "g"]) await end(name);
  await Promise.all(all);
});

test("a key can use all the slots that another key frees", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 2, maxWaitingPerKey: 10 });
  const { task, end, started } = createTasks();
  const all = ["a", "b"].map((name) => semaphore.run("ada", noDeadline, task(name)));
  all.push(...["c", "d"].map((name) => semaphore.run("grace", noDeadline, task(name))));
  await end("a");
  await end("b");
  expect(started).toEqual(["a", "b", "c", "d"]);
  for (const name of ["c", "d"]) await end(name);
  await Promise.all(all);
});

test("a task that fails frees its slot", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 2, maxWaitingPerKey: 0 });
  const failure = new Error("failed task");
  for (let round = 0; round < 5; round += 1)
    await expect(semaphore.run("key", noDeadline, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(await semaphore.run("key", noDeadline, async () => "done")).toBe("done");
});

test("rejects a task if too many of its key or of all keys wait, and accepts tasks again after they have run", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaiting: 3, maxWaitingPerKey: 2 });
  const { task, end } = createTasks();
  const overloaded = { code: "SERVICE_UNAVAILABLE", retryAfterSeconds: 1 };
  const run = (key: string, name: string) => semaphore.run(key, noDeadline, task(name));
  const first = [run("ada", "a"), run("ada", "b"), run("ada", "c")];
  await expect(run("ada", "d")).rejects.toMatchObject(overloaded);
  const grace = run("grace", "e");
  await expect(run("hedy", "f")).rejects.toMatchObject(overloaded);
  for (const name of ["a", "e", "b", "c"]) await end(name);
  await Promise.all([...first, grace]);
  const later = [run("ada", "g"), run("ada", "h"), run("grace", "i"), run("hedy", "j")];
  await expect(run("hedy", "k")).rejects.toMatchObject(overloaded);
  for (const name of ["g", "i", "j", "h"]) await end(name);
  expect(await Promise.all(later)).toEqual(["g", "h", "i", "j"]);
});

test("rejects a task with the error of its options", async () => {
  const rejection = new AppError("TOO_MANY_REQUESTS");
  const options = { maxRunningPerKey: 1, maxWaitingPerKey: 0, createRejection: () => rejection };
  const semaphore = new FairSemaphore<string>(options);
  const { task, end } = createTasks();
  const first = semaphore.run("ada", noDeadline, task("first"));
  await expect(semaphore.run("ada", noDeadline, task("second"))).rejects.toBe(rejection);
  await end("first");
  expect(await first).toBe("first");
});

test("rejects a waiting task at its deadline, and starts the tasks behind it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaiting: 2, maxWaitingPerKey: 2 });
  const { task, end, started } = createTasks();
  const run = (key: string, deadline: number, name: string) => semaphore.run(key, deadline, task(name));
  const first = run("ada", noDeadline, "first");
  const late = run("grace", performance.now() + 50, "late");
  const next = run("hedy", performance.now() + 100, "next");
  const rejected = expect(late).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  await vi.advanceTimersByTimeAsync(51);
  await rejected;
  await end("first");
  // A running task has no deadline anymore, and doesn't count as waiting.
  await vi.advanceTimersByTimeAsync(50);
  const last = [run("ada", noDeadline, "last"), run("ada", noDeadline, "very last")];
  await expect(run("grace", noDeadline, "too many")).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  for (const name of ["next", "last", "very last"]) await end(name);
  await Promise.all([first, next, ...last]);
  expect(started).toEqual(["first", "next", "last", "very last"]);
});

test("rejects one of two waiting tasks of a key at its deadline, and starts the other one", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaitingPerKey: 2 });
  const { task, end, started } = createTasks();
  await vi.advanceTimersByTimeAsync(10);
  const first = semaphore.run("ada", noDeadline, task("first"));
  const other = semaphore.run("hedy", performance.now() + 50, task("other"));
  const late = semaphore.run("grace", performance.now() + 50, task("late"));
  const next = semaphore.run("grace", noDeadline, task("next"));
  const rejected = Promise.all(
    [other, late].map((one) => expect(one).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" })),
  );
  expect(semaphore.keyCount).toBe(3);
  await vi.advanceTimersByTimeAsync(51);
  await rejected;
  expect(semaphore.keyCount).toBe(2);
  await end("first");
  expect(started).toEqual(["first", "next"]);
  await end("next");
  await Promise.all([first, next]);
});

test("does not start a task whose deadline has passed, even if the event loop was too busy for the timer", async () => {
  const semaphore = new FairSemaphore<string>({ maxRunning: 1, maxWaitingPerKey: 2 });
  const { task, end, started } = createTasks();
  await expect(semaphore.run("key", performance.now() - 1, task("late"))).rejects.toMatchObject({
    code: "SERVICE_UNAVAILABLE",
  });
  const first = semaphore.run("key", noDeadline, task("first"));
  const deadline = performance.now() + 20;
  const waiting = semaphore.run("key", deadline, task("waiting"));
  const rejected = expect(waiting).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  while (performance.now() <= deadline); // Busy until the deadline has passed.
  await end("first");
  await Promise.all([first, rejected]);
  expect(started).toEqual(["first"]);
});
