import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { type BatchExecutor, type PendingState, Scheduler, type SchedulerOptions } from "./scheduler.ts";

// The scheduler alone, with batches that end when the test says so, and time that passes when the test says so.

const deadlineMs = 1_000;
const sweepMs = 100;
const postponeMs = 10;

interface TestRequest extends PendingState {
  readonly name: string;
  answer: "done" | "rejected" | undefined;
  answers: number;
}

/** A batch that is being executed. */
interface TestBatch {
  readonly requests: readonly TestRequest[];
  readonly names: string;
  /** Answers its requests and ends it. */
  readonly finish: () => Promise<void>;
  /** Ends it without an answer to its requests. */
  readonly end: () => Promise<void>;
  readonly fail: (error: unknown) => Promise<void>;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  return () => vi.useRealTimers();
});

function startScheduler({
  maxPending = 10,
  maxSizePerCaller,
  ...overrides
}: Partial<BatchExecutor<TestRequest>> & Partial<SchedulerOptions> = {}) {
  const batches: TestBatch[] = [];
  const failures: unknown[] = [];
  const cancellations: number[] = [];
  const scheduler = new Scheduler<TestRequest>(
    {
      prepare: () => undefined,
      execute(requests) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        batches.push({
          requests,
          names: namesOf(requests),
          async finish() {
            for (const request of requests) settle(request);
            resolve();
            await setImmediate();
          },
          async end() {
            resolve();
            await setImmediate();
          },
          async fail(error) {
            reject(error);
            await setImmediate();
          },
        });
        return promise;
      },
      reject: (request) => answer(request, "rejected"),
      report: (error) => failures.push(error),
      cancelIfSilentFor: (milliseconds) => cancellations.push(milliseconds),
      ...overrides,
    },
    {
      deadlineMs,
      maxPending,
      ...(maxSizePerCaller && { maxSizePerCaller }),
      maxInFlight: 2,
      maxBatch: 1_024,
    },
  );
  const settle = (request: TestRequest): void => {
    if (scheduler.settle(request)) answer(request, "done");
  };
  /** Adds requests with these one-letter names, in one synchronous run, and lets the scheduler execute what it can. */
  const add = async (names: string, state: Partial<PendingState> = {}): Promise<TestRequest[]> => {
    const requests = Array.from(names, (name) => createRequest(name, state));
    for (const request of requests) scheduler.add(request);
    await setImmediate();
    return requests;
  };
  /** The batch with this number, from 0. */
  const batch = (index: number): TestBatch => {
    const found = batches[index];
    if (!found) throw new Error(`Batch ${index} is not executed. There are ${batches.length}.`);
    return found;
  };
  return {
    scheduler,
    batch,
    add,
    failures,
    cancellations,
    executed: () => batches.map(({ names }) => names),
  };
}

function createRequest(name: string, state: Partial<PendingState> = {}): TestRequest {
  return {
    name,
    callerId: name,
    size: 1,
    callerTotal: undefined,
    arrivedAt: performance.now(),
    mayFillQueue: true,
    wasPostponed: false,
    isAnswered: false,
    answer: undefined,
    answers: 0,
    ...state,
  };
}

function answer(request: TestRequest, kind: "done" | "rejected"): void {
  request.answer = kind;
  request.answers += 1;
}

function namesOf(requests: readonly TestRequest[]): string {
  return requests.map(({ name }) => name).join("");
}

function answersOf(requests: readonly TestRequest[]): (string | undefined)[] {
  return requests.map((request) => request.answer);
}

/** Lets this time pass, and everything happen that is due in it. */
async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await setImmediate();
}

test("the requests of one synchronous run are one batch, in the order of their arrival", async () => {
  const { scheduler, add, executed } = startScheduler();
  const added = add("abc");
  // The batch is executed after the run, which can still add to it.
  expect(executed()).toEqual([]);
  scheduler.add(createRequest("d"));
  await added;
  expect(executed()).toEqual(["abcd"]);
});

test("requests that arrive while a batch is in flight are the next batch, in the order of their arrival", async () => {
  const { add, batch, executed } = startScheduler();
  const first = await add("abcd");
  await add("ef");
  await add("g");
  expect(executed()).toEqual(["abcd"]);
  await batch(0).finish();
  expect(answersOf(first)).toEqual(Array(4).fill("done"));
  expect(executed()).toEqual(["abcd", "efg"]);
});

test("a batch has at most 1,024 requests, and the others are the next batch", async () => {
  const { add, batch } = startScheduler();
  await add("x".repeat(3_000));
  expect(batch(0).requests).toHaveLength(1_024);
  await add("");
  await batch(0).finish();
  expect(batch(1).requests).toHaveLength(1_024);
  // The queue has fewer requests than the batch in flight, so they wait for its end.
  await batch(1).finish();
  expect(batch(2).requests).toHaveLength(952);
});

test("a second batch is executed behind the first when it is as large, and a third one waits for one of them", async () => {
  const { add, batch, executed } = startScheduler();
  await add("abc");
  await add("de");
  expect(executed()).toEqual(["abc"]);
  await add("f");
  expect(executed()).toEqual(["abc", "def"]);
  await add("ghijk");
  expect(executed()).toEqual(["abc", "def"]);
  // Batches can end in any order.
  await batch(1).finish();
  expect(executed()).toEqual(["abc", "def", "ghijk"]);
  await add("lmnop");
  expect(executed()).toHaveLength(3);
});

test("a second batch waits until the first one has ended while none may follow", async () => {
  let isAllowed = false;
  const { add, batch, executed } = startScheduler({ mayFollow: () => isAllowed });
  await add("a");
  await add("b");
  expect(executed()).toEqual(["a"]);
  await batch(0).finish();
  expect(executed()).toEqual(["a", "b"]);
  isAllowed = true;
  await add("c");
  expect(executed()).toEqual(["a", "b", "c"]);
});

test("a second batch is executed when one may follow, without another request", async () => {
  let isAllowed = false;
  const { scheduler, add, executed } = startScheduler({ mayFollow: () => isAllowed });
  await add("a");
  await add("b");
  scheduler.dispatchFollowing();
  await Promise.resolve();
  expect(executed()).toEqual(["a"]);
  isAllowed = true;
  scheduler.dispatchFollowing();
  await expect.poll(executed).toEqual(["a", "b"]);
});

test("requests that are not chosen stay at the front of the queue, and a second batch is compared with those chosen", async () => {
  const { add, batch, executed } = startScheduler({
    choose: (requests) => ({ chosen: requests.slice(0, 2), deferred: requests.slice(2) }),
  });
  await add("abcde");
  expect(executed()).toEqual(["ab"]);
  await add("f");
  expect(executed()).toEqual(["ab", "cd"]);
  await batch(0).finish();
  expect(executed()).toEqual(["ab", "cd", "ef"]);
});

test("requests that are queued again come before those that arrived in the meantime, and wait for the end of the batch", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const requests = await add("abcd");
  await add("e");
  scheduler.requeue(requests.slice(1, 3));
  expect(executed()).toEqual(["abcd"]);
  for (const request of [requests[0], requests[3]]) if (request) scheduler.settle(request);
  await batch(0).end();
  expect(executed()).toEqual(["abcd", "bce"]);
});

test("postponed requests are queued again after ten milliseconds, behind those that arrived in the meantime", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const requests = await add("ab");
  scheduler.postpone(requests);
  await batch(0).end();
  await pass(postponeMs - 1);
  expect(executed()).toEqual(["ab"]);
  await add("cd");
  await add("e");
  await pass(1);
  // Together with the request in the queue, they are as many as the batch in flight.
  expect(executed()).toEqual(["ab", "cd", "eab"]);
  await batch(2).finish();
  expect(answersOf(requests)).toEqual(["done", "done"]);
});

test("a request that was answered before it is postponed isn't queued again", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const [answered, open] = await add("ab");
  if (!answered || !open) throw new Error("Two requests were added.");
  scheduler.settle(answered);
  scheduler.postpone([answered, open]);
  await batch(0).end();
  await pass(postponeMs);
  expect(executed()).toEqual(["ab", "b"]);
  expect(answered.wasPostponed).toBe(false);
  scheduler.settle(open);
  const timers = vi.getTimerCount();
  scheduler.postpone([answered, open]);
  expect(vi.getTimerCount()).toBe(timers);
});

test("a queued request is rejected at its deadline, even though no batch ends", async () => {
  const { scheduler, add, executed } = startScheduler({ maxPending: 4 });
  await add("abc");
  await pass(sweepMs / 2);
  const [queued] = await add("d");
  expect(scheduler.hasRoom("another", 1, true)).toBe(false);
  await pass(deadlineMs - sweepMs / 2);
  // At 1,000 ms, no request is past its deadline; the next sweep is at 1,100 ms.
  expect(queued?.answer).toBeUndefined();
  await pass(sweepMs);
  expect(queued).toMatchObject({ answer: "rejected", answers: 1 });
  expect(executed()).toEqual(["abc"]);
  // It left the queue: only the other three occupied places, and they were rejected too.
  await add("efg");
  expect(executed()).toEqual(["abc", "efg"]);
});

test("a request in flight is rejected at its deadline, and only once, whatever its batch does afterwards", async () => {
  const { scheduler, add, batch } = startScheduler({ maxPending: 2 });
  const requests = await add("ab");
  await pass(deadlineMs);
  expect(answersOf(requests)).toEqual([undefined, undefined]);
  await pass(sweepMs);
  expect(answersOf(requests)).toEqual(["rejected", "rejected"]);
  // Their places are free while their batch is still in flight, and aren't freed again at its end.
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
  await add("cd");
  await batch(0).finish();
  expect(requests).toMatchObject([{ answer: "rejected", answers: 1 }, { answers: 1 }]);
  expect(scheduler.hasRoom("another", 1, true)).toBe(false);
});

test("a request that spent its deadline in the queue isn't executed with its batch", async () => {
  const { add, batch } = startScheduler();
  await add("abc");
  const [late] = await add("d");
  // The batch in flight ends after the deadline, and before the sweep.
  await pass(deadlineMs + 1);
  const [fresh] = await add("e");
  await batch(0).finish();
  expect(late?.answer).toBe("rejected");
  expect(fresh?.answer).toBeUndefined();
  expect(batch(1).requests.filter(({ isAnswered }) => !isAnswered)).toEqual([fresh]);
});

test("a batch is executed when it is prepared, without the requests whose deadline passed until then", async () => {
  const preparations: PromiseWithResolvers<void>[] = [];
  const { add, batch, executed } = startScheduler({
    prepare() {
      const preparation = Promise.withResolvers<void>();
      preparations.push(preparation);
      return preparation.promise;
    },
  });
  const [late] = await add("a");
  // The deadline has passed, and the next sweep comes later.
  await pass(deadlineMs + 1);
  const [fresh] = await add("b");
  expect(executed()).toEqual([]);
  expect(late?.answer).toBeUndefined();
  for (const { resolve } of preparations) resolve();
  await setImmediate();
  expect(late?.answer).toBe("rejected");
  expect(executed()).toEqual(["a", "b"]);
  await batch(1).finish();
  expect(fresh?.answer).toBe("done");
});

test("work in flight that takes longer than a deadline is canceled with every sweep", async () => {
  const { cancellations } = startScheduler();
  await pass(sweepMs - 1);
  expect(cancellations).toEqual([]);
  await pass(1 + sweepMs);
  // The executor compares the deadline with the time since its last progress.
  expect(cancellations).toEqual([deadlineMs, deadlineMs]);
});

test("there is room until the most requests are pending, and again for each that is answered", async () => {
  const { scheduler, add, batch } = startScheduler({ maxPending: 3 });
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
  const requests = await add("ab");
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
  await add("c");
  expect(scheduler.hasRoom("another", 1, true)).toBe(false);
  const [first, second] = requests;
  if (!first || !second) throw new Error("Two requests were added.");
  expect(scheduler.settle(first)).toBe(true);
  expect(scheduler.settle(first)).toBe(false);
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
  await add("d");
  expect(scheduler.hasRoom("another", 1, true)).toBe(false);
  // Requests that must always run, such as a health check, are added without asking for room.
  const [extra] = await add("e");
  for (const index of [0, 1, 2]) await batch(index).finish();
  expect(extra?.answer).toBe("done");
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
});

test("requests that may not fill the queue occupy at most half of it, and don't crowd out the others", async () => {
  const { scheduler, add, batch } = startScheduler({ maxPending: 4 });
  await add("a", { mayFillQueue: false });
  expect(scheduler.hasRoom("another", 1, false)).toBe(true);
  await add("b", { mayFillQueue: false });
  expect([scheduler.hasRoom("another", 1, false), scheduler.hasRoom("another", 1, true)]).toEqual([
    false,
    true,
  ]);
  await add("cd");
  expect([scheduler.hasRoom("another", 1, false), scheduler.hasRoom("another", 1, true)]).toEqual([
    false,
    false,
  ]);
  await batch(0).finish();
  // The first half is free again for one of them.
  expect([scheduler.hasRoom("another", 1, false), scheduler.hasRoom("another", 1, true)]).toEqual([
    true,
    true,
  ]);
  // The others don't make room for them when they end.
  for (const index of [1, 2]) await batch(index).finish();
  await add("ef", { mayFillQueue: false });
  expect([scheduler.hasRoom("another", 1, false), scheduler.hasRoom("another", 1, true)]).toEqual([
    false,
    true,
  ]);
});

test("one caller occupies at most half of the queue, and each further one at most half of the rest", async () => {
  const { scheduler, add } = startScheduler({ maxPending: 16 });
  const fill = async (callerId: string): Promise<number> => {
    for (let added = 0; ; added += 1) {
      if (!scheduler.hasRoom(callerId, 1, true)) return added;
      await add("x", { callerId });
    }
  };
  expect([await fill("a"), await fill("b"), await fill("c"), await fill("d")]).toEqual([8, 4, 2, 1]);
  expect(await fill("a")).toBe(0);
  expect(scheduler.hasRoom("another", 1, true)).toBe(true);
});

test("callers share the places of requests that may not fill the queue in the same way", async () => {
  const { scheduler, add } = startScheduler({ maxPending: 16 });
  await add("xxxx", { callerId: "a", mayFillQueue: false });
  expect([scheduler.hasRoom("a", 1, false), scheduler.hasRoom("a", 1, true)]).toEqual([false, true]);
  expect(scheduler.hasRoom("b", 1, false)).toBe(true);
  await add("xx", { callerId: "a" });
  expect(scheduler.hasRoom("a", 1, false)).toBe(false);
  await add("xx", { callerId: "b", mayFillQueue: false });
  expect(scheduler.hasRoom("b", 1, false)).toBe(false);
  expect(scheduler.hasRoom("another", 1, false)).toBe(true);
});

test("the sizes of one caller's pending requests have a limit, whatever others have pending", async () => {
  const { scheduler, add, batch } = startScheduler({ maxPending: 100, maxSizePerCaller: 10 });
  await add("x", { callerId: "b", size: 10 });
  await add("x", { callerId: "a", size: 4 });
  expect([scheduler.hasRoom("a", 6, true), scheduler.hasRoom("a", 7, true)]).toEqual([true, false]);
  expect([scheduler.hasRoom("b", 1, true), scheduler.hasRoom("another", 10, true)]).toEqual([false, true]);
  expect(scheduler.hasRoom("another", 11, true)).toBe(false);
  await batch(0).finish();
  expect([scheduler.hasRoom("a", 7, true), scheduler.hasRoom("b", 10, true)]).toEqual([false, true]);
});

test("requests count once for their caller wherever they are: queued again, postponed, in flight or queued", async () => {
  const { scheduler, add, batch } = startScheduler();
  const first = await add("abcd", { callerId: "a" });
  scheduler.requeue(first.slice(0, 1));
  scheduler.postpone(first.slice(1, 2));
  const [queued] = await add("e", { callerId: "a" });
  expect(scheduler.hasRoom("a", 1, true)).toBe(false);
  expect(queued?.callerTotal).toEqual({ requests: 5, size: 5 });
  for (const request of first.slice(2)) scheduler.settle(request);
  await batch(0).end();
  await pass(postponeMs);
  expect(queued?.callerTotal).toEqual({ requests: 3, size: 3 });
  for (const index of [1, 2]) await batch(index).finish();
  expect(queued?.callerTotal).toEqual({ requests: 0, size: 0 });
});

test("callers are counted again after a time with few pending requests, and those left from before count too", async () => {
  const { scheduler, add, batch } = startScheduler();
  const [left] = await add("a", { callerId: "a" });
  const finished = await add("bcde", { callerId: "a" });
  expect(scheduler.hasRoom("a", 1, true)).toBe(false);
  await batch(1).finish();
  await pass(sweepMs);
  expect(left?.answer).toBeUndefined();
  const [next, ...others] = await add("fghi", { callerId: "a" });
  expect([next, ...others].map((request) => request?.callerTotal)).toEqual(Array(4).fill(undefined));
  expect(scheduler.hasRoom("a", 1, true)).toBe(false);
  expect(left?.callerTotal).toEqual({ requests: 5, size: 5 });
  expect(next?.callerTotal).toBe(left?.callerTotal);
  expect(finished[0]?.callerTotal).not.toBe(left?.callerTotal);
});

test.each<
  [string, (test: ReturnType<typeof startScheduler>, requests: readonly TestRequest[]) => Promise<void>]
>([
  ["answered", ({ batch }) => batch(0).finish()],
  ["rejected with a failed batch", ({ batch }) => batch(0).fail(new Error("a failure"))],
  ["rejected in flight past their deadline", () => pass(deadlineMs + sweepMs)],
  [
    "rejected in the queue past their deadline",
    async ({ scheduler, batch }, requests) => {
      scheduler.requeue(requests);
      await pass(deadlineMs + sweepMs);
      await batch(0).end();
    },
  ],
  [
    "postponed and rejected past their deadline",
    async ({ scheduler, batch }, requests) => {
      scheduler.postpone(requests);
      await batch(0).end();
      await pass(deadlineMs + sweepMs);
    },
  ],
  [
    "rejected because too many are postponed",
    async ({ scheduler, add, batch }, requests) => {
      const others = await add("vwxyz");
      scheduler.postpone(others);
      scheduler.postpone(requests);
      await batch(0).end();
    },
  ],
])("requests that are %s give the places of their caller back", async (_, leave) => {
  const started = startScheduler();
  const requests = await started.add("abcde", { callerId: "a" });
  expect(started.scheduler.hasRoom("a", 1, true)).toBe(false);
  await leave(started, requests);
  expect(requests.every(({ answers }) => answers === 1)).toBe(true);
  expect(requests.map(({ callerTotal }) => callerTotal)).toEqual(Array(5).fill({ requests: 0, size: 0 }));
  expect(started.scheduler.hasRoom("a", 1, true)).toBe(true);
});

test("requests that are rejected on close, queued or postponed, give the places of their caller back", async () => {
  const { scheduler, add, batch } = startScheduler();
  const postponed = await add("abc", { callerId: "a" });
  const queued = await add("de", { callerId: "a" });
  expect(scheduler.hasRoom("a", 1, true)).toBe(false);
  scheduler.postpone(postponed);
  const closed = scheduler.close();
  await batch(0).end();
  await closed;
  expect(queued[0]?.callerTotal).toEqual({ requests: 3, size: 3 });
  await pass(postponeMs);
  expect(postponed[0]?.callerTotal).toEqual({ requests: 0, size: 0 });
});

test("postponed requests occupy at most half of the queue; the others are rejected", async () => {
  const { scheduler, add, batch, executed } = startScheduler({ maxPending: 5 });
  const requests = await add("abcde");
  scheduler.postpone(requests);
  expect(answersOf(requests)).toEqual([undefined, undefined, "rejected", "rejected", "rejected"]);
  await batch(0).end();
  await pass(postponeMs);
  expect(executed()).toEqual(["abcde", "ab"]);
  // A request that was postponed keeps its share of the queue while it is executed again, and can be postponed again.
  const others = await add("fgh");
  scheduler.postpone(others);
  expect(answersOf(others)).toEqual(["rejected", "rejected", "rejected"]);
  scheduler.postpone(requests.slice(0, 2));
  expect(answersOf(requests).slice(0, 2)).toEqual([undefined, undefined]);
  await batch(1).end();
  await batch(2).end();
  await pass(postponeMs);
  expect(executed()).toEqual(["abcde", "ab", "fgh", "ab"]);
  await batch(3).finish();
  // Their share is free again.
  const last = await add("ijk");
  scheduler.postpone(last);
  expect(answersOf(last)).toEqual([undefined, undefined, "rejected"]);
});

test.each<[string, (error: Error) => Partial<BatchExecutor<TestRequest>>]>([
  ["execution fails", (error) => ({ execute: () => Promise.reject(error) })],
  ["execution throws", (error) => ({ execute: () => throwError(error) })],
  ["preparation fails", (error) => ({ prepare: () => Promise.reject(error) })],
  ["preparation throws", (error) => ({ prepare: () => throwError(error) })],
])("a batch whose %s is reported, and its requests are rejected and free their places", async (_, fail) => {
  const error = new Error("a failure");
  const { scheduler, add, failures } = startScheduler({ ...fail(error), maxPending: 3 });
  for (let round = 1; round <= 3; round += 1) {
    const requests = await add("abc");
    expect(answersOf(requests)).toEqual(Array(3).fill("rejected"));
    expect(failures).toEqual(Array(round).fill(error));
    expect(scheduler.hasRoom("another", 1, true)).toBe(true);
  }
});

function throwError(error: Error): never {
  throw error;
}

test("a failed batch keeps the answers of requests that were settled, and the next batch is executed", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const requests = await add("ab");
  await add("c");
  const [settled] = requests;
  if (settled && scheduler.settle(settled)) answer(settled, "done");
  await batch(0).fail(new Error("a failure"));
  expect(requests).toMatchObject([
    { answer: "done", answers: 1 },
    { answer: "rejected", answers: 1 },
  ]);
  expect(executed()).toEqual(["ab", "c"]);
});

test("a part of a batch can fail alone", async () => {
  const { scheduler, add, batch, failures } = startScheduler();
  const requests = await add("abc");
  const error = new Error("a failure");
  scheduler.fail(requests.slice(0, 2), error);
  expect(answersOf(requests)).toEqual(["rejected", "rejected", undefined]);
  expect(failures).toEqual([error]);
  await batch(0).finish();
  expect(requests).toMatchObject([{ answers: 1 }, { answers: 1 }, { answer: "done" }]);
});

test("a batch that hangs doesn't keep others from being executed behind it", async () => {
  const { add, batch, executed } = startScheduler();
  const [hanging] = await add("a");
  for (const [index, name] of Array.from("bcde").entries()) {
    const [request] = await add(name);
    await batch(index + 1).finish();
    expect(request?.answer).toBe("done");
  }
  expect(executed()).toEqual(["a", "b", "c", "d", "e"]);
  expect(hanging?.answer).toBeUndefined();
  await pass(deadlineMs + sweepMs);
  expect(hanging?.answer).toBe("rejected");
});

test("a batch without anything to do ends immediately", async () => {
  const { scheduler, add } = startScheduler({ execute: () => undefined });
  const requests = await add("ab");
  for (const request of requests) scheduler.settle(request);
  await scheduler.close();
  expect(scheduler.isClosed).toBe(true);
});

test("closing waits for both batches in flight, and rejects what is queued", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const inFlight = [...(await add("ab")), ...(await add("cd"))];
  const queued = await add("e");
  let isDrained = false;
  const closed = scheduler.close().then(() => {
    isDrained = true;
  });
  expect([scheduler.isClosed, scheduler.hasRoom("another", 1, true)]).toEqual([true, false]);
  await batch(1).finish();
  expect(isDrained).toBe(false);
  await batch(0).finish();
  await closed;
  expect(answersOf(inFlight)).toEqual(Array(4).fill("done"));
  expect(answersOf(queued)).toEqual(["rejected"]);
  expect(executed()).toEqual(["ab", "cd"]);
  // The sweep has ended.
  expect(vi.getTimerCount()).toBe(0);
});

test("deadlines hold while the scheduler closes", async () => {
  const { scheduler, add, batch } = startScheduler();
  const requests = [...(await add("ab")), ...(await add("c"))];
  const closed = scheduler.close();
  await pass(deadlineMs + sweepMs);
  expect(answersOf(requests)).toEqual(Array(3).fill("rejected"));
  await batch(0).finish();
  await closed;
  expect(requests.map(({ answers }) => answers)).toEqual([1, 1, 1]);
});

test("closing before a batch is executed, or while requests are postponed, rejects them and executes nothing", async () => {
  const { scheduler, add, batch, executed } = startScheduler();
  const postponed = await add("ab");
  scheduler.postpone(postponed);
  await batch(0).end();
  const added = createRequest("c");
  scheduler.add(added);
  await scheduler.close();
  expect(added.answer).toBe("rejected");
  expect(answersOf(postponed)).toEqual([undefined, undefined]);
  await pass(postponeMs);
  expect(answersOf(postponed)).toEqual(["rejected", "rejected"]);
  expect(executed()).toEqual(["ab"]);
});
