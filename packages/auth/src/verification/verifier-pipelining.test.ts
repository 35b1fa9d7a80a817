import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createApiKey } from "../key-format.ts";
import { interceptStatements } from "./intercept-statements.test-kit.ts";
import {
  codesOf,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// The order in which the verifier sends statements on its connection.

const { addKeyspace, bumpOwner, execute, failChanges, issueKey, openNode, readCounter } =
  setUpVerifierTests();
const limit = { name: "requests", quota: 1_000, windowSeconds: 3_600, appliesAlways: true };

/** The deadline of requests in tests that advance a node's time to it, in milliseconds. */
const deadlineMs = 1_500;

/** The names, or the texts, of the statements that verifiers sent. */
let sent: string[];
/** See {@link interceptStatements}. */
let onSent: (statement: string, client: pg.Client) => Promise<unknown> | undefined;

beforeEach(() => {
  sent = [];
  onSent = () => undefined;
  return interceptStatements((statement, client) => {
    sent.push(statement);
    return onSent(statement, client);
  });
});
afterEach(() => {
  onSent = () => undefined;
});

async function verify(
  node: Verifier,
  { caller }: TestKeyspace,
  keys: readonly TestIssuedKey[],
): Promise<readonly string[]> {
  const verifications = keys.map((key) => verificationOf(key));
  return codesOf(await node.verify(caller.secret, { address: undefined, name: undefined, verifications }));
}

/** Verifies a key when this statement is sent. */
function verifyAfter(statement: string, work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  onSent = (name) => {
    if (name !== statement) return undefined;
    onSent = () => undefined;
    resolve(work());
    return undefined;
  };
  return promise;
}

/** Replaces the node's time by one that only the test advances. */
function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** Requires that each transaction was sent as a whole, and that lookups were sent outside of transactions. */
function expectWholeTransactions(): void {
  let isOpen = false;
  for (const [index, name] of sent.entries()) {
    const isLookup = name.startsWith("verify-find-");
    expect([index, name, isOpen]).toEqual([index, name, name !== "begin" && !isLookup]);
    if (!name.startsWith("verify-")) isOpen = name === "begin";
  }
  expect(isOpen).toBe(false);
}

test("a batch without meters is sent behind another one, which is still in flight", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const keys = [await issueKey(space), await issueKey(space)] as const;
  // The first batch reads the facts, and the time of the database.
  await verify(node, space, keys);
  sent = [];
  const second = verifyAfter("verify-count", () => verify(node, space, [keys[1]]));
  const first = verify(node, space, [keys[0]]);
  first.then(() => sent.push("answered"));
  expect(await first).toEqual(["VALID"]);
  expect(await second).toEqual(["VALID"]);
  const one = ["begin", "verify-count", "commit"];
  expect(sent).toEqual([...one, ...one, "answered"]);
});

test("a request that arrives while keys are looked up is sent behind the batch as soon as that is counted", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const [known, unknown] = [await issueKey(space), await issueKey(space)];
  await verify(node, space, [known]);
  sent = [];
  const second = verifyAfter("verify-find-issued-keys", () => verify(node, space, [known]));
  const first = verify(node, space, [unknown]);
  first.then(() => sent.push("answered"));
  expect([await first, await second]).toEqual([["VALID"], ["VALID"]]);
  const one = ["begin", "verify-count", "commit"];
  expect(sent).toEqual(["verify-find-issued-keys", ...one, ...one, "answered"]);
});

test("requests that arrive during a transaction that locks counters are one batch, which is sent afterwards", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const [plain, metered] = [await issueKey(space), await issueKey(space, { limits: [limit] })];
  await verify(node, space, [plain, metered]);
  sent = [];
  const verifyPlain = () => verify(node, space, [plain]);
  let third: Promise<readonly string[]> | undefined;
  const second = verifyAfter("verify-lock", () => {
    third = verifyAfter("verify-write", verifyPlain);
    return verifyPlain();
  });
  expect(await verify(node, space, [metered])).toEqual(["VALID"]);
  expect([await second, await third]).toEqual([["VALID"], ["VALID"]]);
  expect(sent).toEqual([
    ...["begin", "verify-lock", "verify-write", "commit"],
    ...["begin", "verify-count", "commit"],
  ]);
});

// The first batch isn't counted, because a key has changed, and locks its counters when the second one has been sent.
test.each<[string, (space: TestKeyspace) => Promise<readonly TestIssuedKey[]>]>([
  ["locks counters", async (space) => [await issueKey(space, { limits: [limit] })]],
  ["looks keys up", async (space) => [await issueKey(space), await issueKey(space)]],
])("two batches, of which the second one %s, don't mix their transactions", async (_case, issue) => {
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode()];
  const [plain, changing] = [await issueKey(space), await issueKey(other)];
  const keys = await issue(space);
  await verify(node, space, keys.length > 1 ? [plain] : [plain, ...keys]);
  await verify(node, other, [changing]);
  await bumpOwner(other.keyspaceId);
  sent = [];
  const second = verifyAfter("verify-count", () => verify(node, space, keys));
  expect(await verify(node, other, [changing])).toEqual(["VALID"]);
  expect(await second).toEqual(keys.map(() => "VALID"));
  expectWholeTransactions();
});

test("batches of all kinds don't mix their transactions", async () => {
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode({ deadlineMs: 60_000 })];
  const plain = await Promise.all(Array.from({ length: 3 }, () => issueKey(space)));
  const metered = [await issueKey(space, { limits: [limit] }), await issueKey(space, { credits: 1_000 })];
  const changing = await issueKey(other);
  await verify(node, space, [...plain, ...metered]);
  await verify(node, other, [changing]);
  sent = [];
  const answers: Promise<readonly string[]>[] = [];
  for (let round = 0; round < 40; round += 1) {
    for (const key of [...plain, ...(round % 3 === 0 ? metered : [])])
      answers.push(verify(node, space, [key]));
    if (round % 5 === 0) await bumpOwner(other.keyspaceId);
    answers.push(verify(node, other, [changing]));
    if (round % 10 === 0) answers.push(verify(node, space, [await issueKey(space)]));
    if (round % 4 === 0) await answers.at(-1);
  }
  const codes = await Promise.all(answers);
  expect(codes.flat().every((code) => code === "VALID")).toBe(true);
  expectWholeTransactions();
  const names = ["begin", "commit", "count", "find-api-keys", "find-issued-keys", "lock", "write"];
  // On a busy machine, a count takes long, and the transaction after it doesn't wait for locks.
  const kinds = new Set(sent.map((name) => name.replace(/^verify-|-free$/g, "")));
  expect([...kinds].sort()).toEqual(names);
});

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
    await verify(node, space, [changing]);
    await bumpOwner(space.keyspaceId);
    const [isLocked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let second: Promise<readonly string[]> | undefined;
    onSent = (name) => {
      if (name === "verify-count") second ??= request();
      if (name !== "verify-lock") return undefined;
      onSent = () => undefined;
      isLocked.resolve();
      return isReleased.promise;
    };
    // It isn't counted, because its key has changed.
    const first = verify(node, space, [changing]);
    await isLocked.promise;
    // The second batch is queued by the end of this turn of the event loop.
    await setImmediate();
    sent = [];
    await duringWait();
    isReleased.resolve();
    await first;
    return await second;
  }

  /** It is looked up each time, so that the first batch has failed before the second one is counted. */
  const unknown = { id: "unknown" as TestIssuedKey["id"], secret: "acme_unknown" }; // No row has this ID.

  test("doesn't count requests that reached their deadline in the queue", async () => {
    useFakeTime();
    const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode({ deadlineMs })];
    const key = await issueKey(space);
    await verify(node, space, [key]);
    const request = () => {
      // Its deadline ends 100 ms later.
      const spy = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() - 1_400);
      const answer = verify(node, space, [key, unknown]);
      spy.mockRestore();
      return answer;
    };
    const duringWait = () => vi.advanceTimersByTime(200);
    expect(await verifyBehindLock(node, other, { request, duringWait })).toEqual(["unavailable"]);
    await verify(node, space, [key]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  });

  test("waits for a lock of its own too", async () => {
    useFakeTime();
    const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode()];
    const key = await issueKey(space, { limits: [limit] });
    await verify(node, space, [key]);
    const request = () => verify(node, space, [key, unknown]);
    const duringWait = () => vi.advanceTimersByTime(200);
    expect(await verifyBehindLock(node, other, { request, duringWait })).toEqual(["VALID", "NOT_FOUND"]);
    expect(sent).toContain("verify-lock");
    expect(sent).not.toContain("verify-lock-free");
  });
});

test("keys of requests that were answered while they waited to be looked up are not looked up", async () => {
  useFakeTime();
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode({ deadlineMs })];
  const isolated = await addKeyspace();
  const [plain, poisoned] = [await issueKey(space), await issueKey(isolated, { limits: [limit] })];
  const metered = await issueKey(other, { limits: [limit] });
  const unknown = { id: "unknown" as TestIssuedKey["id"], secret: "acme_unknown" }; // No row has this ID.
  await verify(node, space, [plain]);
  await verify(node, other, [metered]);
  // The key and its caller's are isolated: requests for them are decided after the others of their batch, and looked up again.
  await failChanges(poisoned, "22003");
  expect(await verify(node, isolated, [poisoned])).toEqual(["unavailable"]);
  const [isLocked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let behind: Promise<unknown> | undefined;
  onSent = (name) => {
    // A batch that locks a counter is sent when the others of the first one have been counted, before the isolated ones.
    if (name === "verify-count") {
      // It has as many requests.
      behind ??= Promise.all([verify(node, other, [metered]), verify(node, other, [metered])]);
      return isLocked.promise;
    }
    if (name !== "verify-lock") return undefined;
    onSent = () => undefined;
    isLocked.resolve();
    return isReleased.promise;
  };
  const counted = verify(node, space, [plain]);
  // Its deadline ends 100 ms later.
  const spy = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() - 1_400);
  const answer = verify(node, isolated, [poisoned, unknown]);
  spy.mockRestore();
  expect(await counted).toEqual(["VALID"]);
  await setImmediate();
  sent = [];
  vi.advanceTimersByTime(200);
  expect(await answer).toEqual(["unavailable"]);
  isReleased.resolve();
  expect(await behind).toEqual([["VALID"], ["VALID"]]);
  // The first batch ends before another one is sent.
  expect(await verify(node, space, [plain])).toEqual(["VALID"]);
  expect(sent).not.toContain("verify-find-issued-keys");
});

test("a second batch doesn't extend the time after which a silent connection is closed", async () => {
  useFakeTime();
  const failures: unknown[] = [];
  const [space, node] = [
    await addKeyspace(),
    openNode({ deadlineMs, onFailure: (error) => failures.push(error) }),
  ];
  const key = await issueKey(space);
  await verify(node, space, [key]);
  /** Resolves when the next batch has been sent. */
  const untilSent = () => {
    const { promise, resolve } = Promise.withResolvers<pg.Client>();
    onSent = (name, client) => void (name === "commit" && resolve(client));
    return promise;
  };
  const firstSent = untilSent();
  const first = verify(node, space, [key]);
  // After this, the node receives nothing.
  const { stream } = (await firstSent).connection;
  stream.pause();
  onTestFinished(() => {
    stream.destroy();
  });
  vi.advanceTimersByTime(1_400);
  const secondSent = untilSent();
  const second = verify(node, space, [key]);
  await secondSent;
  expect(failures).toEqual([]);
  vi.advanceTimersByTime(200);
  // The deadline of the second one ends 1.3 seconds later.
  expect([await first, await second]).toEqual([["unavailable"], ["unavailable"]]);
  expect(failures.length).toBeGreaterThan(0);
  onSent = () => undefined;
  expect(await verify(node, space, [key])).toEqual(["VALID"]);
});

test("a batch whose count was canceled is counted once, and not once for each of its halves", async () => {
  const node = openNode();
  const tenants = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const space = await addKeyspace();
      return { space, key: await issueKey(space) };
    }),
  );
  const verifyAll = () => Promise.all(tenants.map(({ space, key }) => verify(node, space, [key])));
  const valid = ["VALID"];
  expect(await verifyAll()).toEqual([valid, valid, valid, valid]);
  await failChanges(tenants[0]?.key as TestIssuedKey, "57014"); // There are four.
  sent = [];
  expect(await verifyAll()).toEqual([["unavailable"], valid, valid, valid]);
  expect(sent.filter((name) => name === "verify-count")).toHaveLength(1);
});

test("a key and its caller's key are counted without a lock after the first use of their new secrets", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const key = await issueKey(space);
  const ids = sql.join([space.caller.id, key.id]);
  await execute(sql`update key_counters set has_unused_secret = true where key_id in (${ids})`);
  for (let use = 1; use <= 2; use += 1) expect(await verify(node, space, [key])).toEqual(["VALID"]);
  sent = [];
  expect(await verify(node, space, [key])).toEqual(["VALID"]);
  expect(sent).toEqual(["begin", "verify-count", "commit"]);
});

test("a batch looks up fewer callers' keys than it could have requests of known callers", async () => {
  const [space, node] = [await addKeyspace(), openNode({ deadlineMs: 60_000 })];
  const key = await issueKey(space);
  await verify(node, space, [key]);
  sent = [];
  const forged = Array.from({ length: 300 }, () => ({ ...space.caller, secret: createApiKey().secret }));
  const answers = await Promise.all(forged.map((caller) => verify(node, { ...space, caller }, [key])));
  expect(new Set(answers.flat())).toEqual(new Set(["rejected"]));
  expect(sent).toEqual(["verify-find-api-keys", "verify-find-api-keys"]);
});
