import { setImmediate as turn } from "node:timers/promises";
import type { UserId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

const [ada, grace] = ["ada", "grace"] as unknown as [UserId, UserId];
const noDeadline = Number.POSITIVE_INFINITY;

/** Tasks that end when they are told to. */
function createTasks() {
  const ends: (() => void)[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  return {
    begun: () => ends.length,
    mostAtOnce: () => mostAtOnce,
    end: (index: number) => ends[index]?.(),
    task: async () => {
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      await new Promise<void>((end) => ends.push(end));
      atOnce -= 1;
    },
  };
}

test("two changes of one user are under way at once, the others follow in their order", async () => {
  const turns = new Turns();
  const tasks = createTasks();
  const ended: number[] = [];
  const all = [0, 1, 2, 3, 4].map((number) =>
    turns.take(ada, noDeadline, tasks.task).then(() => ended.push(number)),
  );
  await turn();
  expect(tasks.begun()).toBe(2);
  for (const index of [0, 1, 2, 3, 4]) {
    tasks.end(index);
    await turn();
  }
  await Promise.all(all);
  expect([ended, tasks.mostAtOnce()]).toEqual([[0, 1, 2, 3, 4], 2]);
});

test("nobody waits for somebody else", async () => {
  const turns = new Turns();
  const tasks = createTasks();
  const all = [ada, ada, ada, grace].map((user) => turns.take(user, noDeadline, tasks.task));
  await turn();
  expect(tasks.begun()).toBe(3);
  for (const index of [0, 1, 2, 3]) {
    tasks.end(index);
    await turn();
  }
  await Promise.all(all);
});

test("a change that fails gives its turn on", async () => {
  const turns = new Turns();
  const failure = new Error("No.");
  for (let round = 0; round < 5; round += 1) {
    await expect(turns.take(ada, noDeadline, () => Promise.reject(failure))).rejects.toBe(failure);
  }
  expect(await turns.take(ada, noDeadline, async () => "done")).toBe("done");
});

test("what waited past its deadline is not begun, and gives its turn on", async () => {
  const turns = new Turns();
  const tasks = createTasks();
  const before = [turns.take(ada, noDeadline, tasks.task), turns.take(ada, noDeadline, tasks.task)];
  const late = turns.take(ada, performance.now() - 1, tasks.task);
  const after = turns.take(ada, noDeadline, tasks.task);
  tasks.end(0);
  await expect(late).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  await turn();
  expect(tasks.begun()).toBe(3);
  tasks.end(1);
  tasks.end(2);
  await Promise.all([...before, after]);
});

test("of very many at once some are turned away", async () => {
  const turns = new Turns();
  const tasks = createTasks();
  const first = turns.take(ada, noDeadline, tasks.task);
  const deadline = performance.now() - 1;
  const others = Array.from({ length: 600 }, () => turns.take(ada, deadline, tasks.task));
  const outcomes = Promise.allSettled(others);
  await expect(others.at(-1)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  tasks.end(0);
  await first;
  expect((await outcomes).every(({ status }) => status === "rejected")).toBe(true);
  expect(tasks.begun()).toBe(1);
});
