import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addKey, hold } = admissionKit(() => database);

/** Replaces the time of the nodes by one that only the test advances, in milliseconds. */
function mockClock(): { now: number } {
  const clock = { now: performance.now() };
  vi.spyOn(performance, "now").mockImplementation(() => clock.now);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  return clock;
}

test("a key whose row was locked is counted separately for a second after that, even if it isn't used until then", async () => {
  const clock = mockClock();
  const node = openNode({ deadlineMs: 400 });
  const keys = [await addKey(), await addKey()] as const;
  for (const { secret } of keys) await node.admit(secret);
  const releases = [await hold(keys[0]), await hold(keys[1])];
  const query = vi.spyOn(pg.Client.prototype, "query");
  const listSent = () => query.mock.calls.map(([config]) => (config as { readonly name?: string }).name);
  const verdicts = Promise.all(keys.map(({ secret }) => node.admit(secret)));
  // The statement that finds the rows locked is sent again until the deadline, so that the connection is never silent for as long.
  for (const elapsedMs of [300, 101]) {
    query.mockClear();
    await expect.poll(() => listSent().filter((name) => name === "admit-resolve").length).toBeGreaterThan(2);
    clock.now += elapsedMs;
  }
  expect(await verdicts).toMatchObject([{ kind: "unavailable" }, { kind: "unavailable" }]);
  // What was sent for the requests before has ended.
  await expect.poll(() => node.isAvailable()).toBe(true);
  for (const release of releases) await release();
  const countBy = async ({ secret }: TestKey) => {
    query.mockClear();
    expect(await node.admit(secret)).toMatchObject({ kind: "admitted" });
    return listSent();
  };
  clock.now += 500;
  expect(await countBy(keys[0])).toEqual(["admit-resolve"]);
  clock.now += 500;
  expect(await countBy(keys[1])).toEqual(["admit-count-one"]);
});

test("a request that reached its deadline before the statement for its isolated key was sent is not counted", async () => {
  const clock = mockClock();
  const node = openNode({ deadlineMs: 400 });
  const [isolated, other] = [await addKey(), await addKey()];
  for (const { secret } of [isolated, other]) await node.admit(secret);
  let isHolding = false;
  let resolveCount = 0;
  const [isCounting, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onTestFinished(
    interceptStatements((name) => {
      if (name === "admit-resolve") resolveCount += 1;
      if (name !== "admit-count-one" || !isHolding) return undefined;
      isCounting.resolve();
      return isReleased.promise;
    }),
  );
  // The key is isolated because its row is locked.
  const release = await hold(isolated);
  const locked = node.admit(isolated.secret);
  // In two steps, so that the connection is never silent for as long as the deadline.
  for (const elapsedMs of [300, 101]) {
    resolveCount = 0;
    await expect.poll(() => resolveCount).toBeGreaterThan(2);
    clock.now += elapsedMs;
  }
  expect(await locked).toMatchObject({ kind: "unavailable" });
  // What was sent for it has ended.
  await expect.poll(() => node.isAvailable()).toBe(true);
  await release();
  isHolding = true;
  const late = node.admit(isolated.secret);
  clock.now += 300;
  // One batch. The isolated key waits until the other one has been counted.
  const [inTime, counted] = [node.admit(isolated.secret), node.admit(other.secret)];
  await isCounting.promise;
  clock.now += 101;
  expect(await late).toMatchObject({ kind: "unavailable" });
  isReleased.resolve();
  expect(await Promise.all([inTime, counted])).toMatchObject([{ kind: "admitted" }, { kind: "admitted" }]);
  const { use_count } = await database.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", isolated.id)
    .executeTakeFirstOrThrow();
  expect(use_count).toBe(2);
});
