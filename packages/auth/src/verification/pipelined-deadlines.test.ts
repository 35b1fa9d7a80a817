import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  deadlineMs,
  recordStatements,
  unknownKey,
  useFakeTime,
  verifyAll,
} from "./sent-statements.test-kit.ts";
import { hourly, setUpVerifierTests, type TestKeyspace } from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// Deadlines and locks of batches that are sent behind another one.

const { addKeyspace, bumpOwner, failChanges, issueKey, openNode, readCounter } = setUpVerifierTests();
const sent = recordStatements();

describe("a batch that waits behind one that locks a counter", () => {
  /** Makes a request in such a batch. `sent` has what was sent after the wait. */
  async function verifyBehindLock(
    node: Verifier,
    space: TestKeyspace,
    {
      request,
      duringWait,
    }: {
      readonly request: () => Promise<readonly string[]>;
      readonly duringWait: () => unknown;
    },
  ): Promise<readonly string[] | undefined> {
    const changing = await issueKey(space);
    await verifyAll(node, space, [changing]);
    await bumpOwner(space.keyspaceId);
    const [isLocked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let second: Promise<readonly string[]> | undefined;
    sent.onSent = (name) => {
      if (name === "verify-count") second ??= request();
      if (name !== "verify-lock") return undefined;
      sent.onSent = () => undefined;
      isLocked.resolve();
      return isReleased.promise;
    };
    // It isn't counted, because its key has changed.
    const first = verifyAll(node, space, [changing]);
    await isLocked.promise;
    // The second batch is queued by the end of this turn of the event loop.
    await setImmediate();
    sent.names = [];
    await duringWait();
    isReleased.resolve();
    await first;
    return await second;
  }

  test("doesn't count requests that reached their deadline in the queue", async () => {
    useFakeTime();
    const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode({ deadlineMs })];
    const key = await issueKey(space);
    await verifyAll(node, space, [key]);
    const request = () => {
      // Its deadline ends 100 ms later.
      const spy = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() - 1_400);
      const answer = verifyAll(node, space, [key, unknownKey]);
      spy.mockRestore();
      return answer;
    };
    const duringWait = () => vi.advanceTimersByTime(200);
    expect(await verifyBehindLock(node, other, { request, duringWait })).toEqual(["unavailable"]);
    await verifyAll(node, space, [key]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  });

  test("waits for a lock of its own too", async () => {
    useFakeTime();
    const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode()];
    const key = await issueKey(space, { limits: [hourly(1_000)] });
    await verifyAll(node, space, [key]);
    const request = () => verifyAll(node, space, [key, unknownKey]);
    const duringWait = () => vi.advanceTimersByTime(200);
    expect(await verifyBehindLock(node, other, { request, duringWait })).toEqual(["VALID", "NOT_FOUND"]);
    expect(sent.names).toContain("verify-lock");
    expect(sent.names).not.toContain("verify-lock-free");
  });
});

test("requests that reached their deadline while their counters were being locked spend nothing", async () => {
  useFakeTime();
  const [space, node] = [await addKeyspace(), openNode({ deadlineMs })];
  const key = await issueKey(space, { credits: 100 });
  await verifyAll(node, space, [key]);
  const [isLocked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  sent.onSent = (name) => {
    if (name !== "verify-lock") return undefined;
    isLocked.resolve();
    return isReleased.promise;
  };
  // The deadline of the first one ends 100 ms later. Both are one batch.
  const spy = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() - 1_400);
  const late = verifyAll(node, space, [key]);
  spy.mockRestore();
  const inTime = verifyAll(node, space, [key]);
  await isLocked.promise;
  vi.advanceTimersByTime(200);
  expect(await late).toEqual(["unavailable"]);
  isReleased.resolve();
  expect(await inTime).toEqual(["VALID"]);
  expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: 98 });
});

test("keys of requests that were answered while they waited to be looked up are not looked up", async () => {
  useFakeTime();
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode({ deadlineMs })];
  const isolated = await addKeyspace();
  const [plain, poisoned] = [await issueKey(space), await issueKey(isolated, { limits: [hourly(1_000)] })];
  const metered = await issueKey(other, { limits: [hourly(1_000)] });
  await verifyAll(node, space, [plain]);
  await verifyAll(node, other, [metered]);
  // The key and its caller's are isolated: requests for them are decided after the others of their batch, and looked up again.
  await failChanges(poisoned, "22003");
  expect(await verifyAll(node, isolated, [poisoned])).toEqual(["unavailable"]);
  const [isLocked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let behind: Promise<unknown> | undefined;
  sent.onSent = (name) => {
    // A batch that locks a counter is sent when the others of the first one have been counted, before the isolated ones.
    if (name === "verify-count") {
      // It has as many requests.
      behind ??= Promise.all([verifyAll(node, other, [metered]), verifyAll(node, other, [metered])]);
      return isLocked.promise;
    }
    if (name !== "verify-lock") return undefined;
    sent.onSent = () => undefined;
    isLocked.resolve();
    return isReleased.promise;
  };
  const counted = verifyAll(node, space, [plain]);
  // Its deadline ends 100 ms later.
  const spy = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() - 1_400);
  const answer = verifyAll(node, isolated, [poisoned, unknownKey]);
  spy.mockRestore();
  expect(await counted).toEqual(["VALID"]);
  await setImmediate();
  sent.names = [];
  vi.advanceTimersByTime(200);
  expect(await answer).toEqual(["unavailable"]);
  isReleased.resolve();
  expect(await behind).toEqual([["VALID"], ["VALID"]]);
  // The first batch ends before another one is sent.
  expect(await verifyAll(node, space, [plain])).toEqual(["VALID"]);
  expect(sent.names).not.toContain("verify-find-issued-keys");
});

test("a second batch doesn't extend the time after which a silent connection is closed", async () => {
  useFakeTime();
  const failures: unknown[] = [];
  const [space, node] = [
    await addKeyspace(),
    openNode({ deadlineMs, onFailure: (error) => failures.push(error) }),
  ];
  const key = await issueKey(space);
  await verifyAll(node, space, [key]);
  /** Resolves when the next batch has been sent. */
  const untilSent = () => {
    const { promise, resolve } = Promise.withResolvers<pg.Client>();
    sent.onSent = (name, client) => void (name === "commit" && resolve(client));
    return promise;
  };
  const firstSent = untilSent();
  const first = verifyAll(node, space, [key]);
  // After this, the node receives nothing.
  const { stream } = (await firstSent).connection;
  stream.pause();
  onTestFinished(() => {
    stream.destroy();
  });
  vi.advanceTimersByTime(1_400);
  const secondSent = untilSent();
  const second = verifyAll(node, space, [key]);
  await secondSent;
  expect(failures).toEqual([]);
  vi.advanceTimersByTime(200);
  // The deadline of the second one ends 1.3 seconds later.
  expect([await first, await second]).toEqual([["unavailable"], ["unavailable"]]);
  expect(failures.length).toBeGreaterThan(0);
  sent.onSent = () => undefined;
  expect(await verifyAll(node, space, [key])).toEqual(["VALID"]);
});
