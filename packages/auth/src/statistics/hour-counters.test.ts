import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { HourCounters } from "./hour-counters.ts";

const now = new Date("2026-03-02T12:30:00Z");
const hour = new Date("2026-03-02T12:00:00Z");
const [key, otherKey] = [keyOf("key", "user"), keyOf("other key", "user")];
const workspaceId = "workspace" as WorkspaceId;

function keyOf(id: string, owner: string) {
  return { id: id as KeyId, owner: owner as UserId }; // Nothing here reads an id.
}

/** A key of a user who has 2,500 keys. */
function keyAt(place: number) {
  return keyOf(`key ${place}`, `user ${Math.floor(place / 2_500)}`);
}

type Counters = HourCounters<ReturnType<typeof keyOf>, WorkspaceId | undefined, "admitted" | "limited">;

function createCounters(): Counters {
  return new HourCounters(now);
}

function read(counters: Counters) {
  return counters.take(100).map(({ counter: _counter, ...count }) => count);
}

test("counts requests by key, workspace and outcome, in the hour of their arrival", () => {
  const counters = createCounters();
  counters.count(key, undefined, "admitted");
  counters.count(otherKey, undefined, "admitted");
  counters.count(key, workspaceId, "admitted");
  counters.count(key, undefined, "limited");
  for (let count = 0; count < 3; count += 1) counters.count(key, undefined, "admitted");
  counters.count(key, workspaceId, "admitted");
  expect(counters.pendingCount).toBe(4);
  expect(read(counters)).toEqual([
    { subject: key, hour, group: undefined, outcome: "admitted", count: 4 },
    { subject: otherKey, hour, group: undefined, outcome: "admitted", count: 1 },
    { subject: key, hour, group: workspaceId, outcome: "admitted", count: 2 },
    { subject: key, hour, group: undefined, outcome: "limited", count: 1 },
  ]);
});

test("a new hour has its own counters, and the same hour keeps its counters", () => {
  const counters = createCounters();
  counters.count(key, undefined, "admitted");
  counters.setHour(new Date("2026-03-02T12:59:59.999Z"));
  counters.count(key, undefined, "admitted");
  counters.setHour(new Date("2026-03-02T13:00:00Z"));
  counters.count(key, undefined, "admitted");
  expect(read(counters)).toMatchObject([
    { hour, count: 2 },
    { hour: new Date("2026-03-02T13:00:00Z"), count: 1 },
  ]);
});

test("counters that wait are still incremented while there is no room for others", () => {
  const counters = createCounters();
  for (let place = 0; place < 50_000; place += 1) counters.count(keyAt(place), undefined, "admitted");
  counters.count(keyAt(49999), undefined, "admitted");
  counters.count(keyAt(50000), undefined, "admitted");
  expect(counters.pendingCount).toBe(50_000);
  expect(counters.take(50_001).at(-1)).toMatchObject({ subject: { id: "key 49999" }, count: 2 });
});

test("the index is cleared when it would exceed 50,000 counters", () => {
  const counters = createCounters();
  for (let place = 0; place < 50_000; place += 1) counters.count(keyAt(place), undefined, "admitted");
  counters.settle(counters.take(50_000));
  counters.count(keyAt(0), undefined, "admitted");
  counters.count(keyAt(50000), undefined, "admitted");
  counters.count(keyAt(0), undefined, "admitted");
  expect(counters.take(10).map(({ subject, count }) => [subject.id, count])).toEqual([
    ["key 0", 1],
    ["key 50000", 1],
    ["key 0", 1],
  ]);
});

test("a subject with too many groups in an hour counts the others together", () => {
  const groups = { max: 2, other: "other" };
  const bounds = { maxPending: 100, maxPendingPerOwner: 100, groups };
  const counters = new HourCounters<typeof key, string, "admitted" | "limited">(now, bounds);
  for (const group of ["a", "b", "c", "d", "c", "a"]) counters.count(key, group, "admitted");
  counters.count(key, "c", "limited");
  counters.count(otherKey, "c", "admitted");
  expect(
    counters.take(100).map(({ subject, group, outcome, count }) => [subject, group, outcome, count]),
  ).toEqual([
    [key, "a", "admitted", 2],
    [key, "b", "admitted", 1],
    [key, "other", "admitted", 3],
    [key, "other", "limited", 1],
    [otherKey, "c", "admitted", 1],
  ]);
  counters.setHour(new Date("2026-03-02T13:00:00Z"));
  counters.count(key, "c", "admitted");
  expect(counters.take(100).at(-1)).toMatchObject({ group: "c", count: 1 });
});
