import type { KeyId, UserId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { HourCounters } from "./hour-counters.ts";
import { LastSeenRecorder } from "./last-seen-recorder.ts";
import { RejectionLog } from "./rejection-log.ts";

const now = new Date("2026-03-02T12:30:00Z");

function keyAt(place: number): KeyId {
  return `key ${place}` as KeyId; // Nothing here reads an id.
}

/** A key of a user who has 2,500 keys. */
function ownedKeyAt(place: number) {
  return { id: keyAt(place), owner: `user ${Math.floor(place / 2_500)}` as UserId }; // Nothing here reads an id.
}

/** A key of a user who has 1,000 keys. */
function seenKeyAt(place: number) {
  return { id: keyAt(place), owner: `user ${Math.floor(place / 1_000)}` as UserId }; // Nothing here reads an id.
}

test("at most 50,000 counters wait; after they are written, requests are counted again", () => {
  const counters = new HourCounters(now);
  for (let place = 0; place < 50_010; place += 1) counters.count(ownedKeyAt(place), undefined, "admitted");
  counters.count(ownedKeyAt(0), undefined, "admitted");
  expect(counters.pendingCount).toBe(50_000);
  // Its counter was no longer in the index, and there was no room for another one.
  expect(counters.take(1)).toMatchObject([{ subject: { id: keyAt(0) }, count: 1 }]);
  counters.settle(counters.take(50_000));
  expect(counters.pendingCount).toBe(0);
  counters.count(ownedKeyAt(0), undefined, "admitted");
  expect(counters.take(2)).toMatchObject([{ subject: { id: keyAt(0) }, count: 1 }]);
});

test("at most 5,000 counters of one owner wait, and requests of other owners are still counted", () => {
  const counters = new HourCounters(now);
  const owner = "busy user" as UserId; // Nothing here reads an id.
  const countAll = (): void => {
    for (let place = 0; place < 60_000; place += 1)
      counters.count({ id: keyAt(place), owner }, undefined, "admitted");
  };
  countAll();
  expect(counters.pendingCount).toBe(5_000);
  const other = { id: keyAt(60_000), owner: "other user" as UserId }; // As above.
  counters.count(other, undefined, "admitted");
  expect(counters.take(10_000).at(-1)).toMatchObject({ subject: other, count: 1 });
  // A counter that is incremented while it is written still counts toward the owner's share.
  const taken = counters.take(2_000);
  counters.count({ id: keyAt(0), owner }, undefined, "admitted");
  counters.settle(taken);
  countAll();
  expect(counters.pendingCount).toBe(5_001);
  counters.settle(counters.take(10_000));
  expect(counters.pendingCount).toBe(0);
  countAll();
  expect(counters.pendingCount).toBe(5_000);
});

test("a counter that is no longer in the index keeps its count", () => {
  const counters = new HourCounters(now);
  for (let place = 0; place < 40_000; place += 1) counters.count(ownedKeyAt(place), undefined, "admitted");
  counters.settle(counters.take(40_000));
  counters.count(ownedKeyAt(0), undefined, "admitted");
  for (let place = 40_000; place < 60_000; place += 1)
    counters.count(ownedKeyAt(place), undefined, "admitted");
  counters.count(ownedKeyAt(0), undefined, "admitted");
  const counts = counters.take(50_000).filter(({ subject }) => subject.id === keyAt(0));
  expect(counts.map(({ count }) => count)).toEqual([1, 1]);
});

test("a counter that is incremented while it is written waits behind the others", () => {
  const counters = new HourCounters(now);
  for (const place of [0, 1, 2]) counters.count(ownedKeyAt(place), undefined, "admitted");
  const taken = counters.take(2);
  counters.count(ownedKeyAt(0), undefined, "admitted");
  counters.settle(taken);
  expect(counters.take(5).map(({ subject }) => subject.id)).toEqual([keyAt(2), keyAt(0)]);
});

test("records at most 20,000 pending values; a value that found no room is recorded when it is seen again", () => {
  const recorder = new LastSeenRecorder();
  for (let place = 0; place < 20_010; place += 1) recorder.record(seenKeyAt(place), "here", 0);
  expect(recorder.pendingCount).toBe(20_000);
  recorder.settle(recorder.take(20_000));
  recorder.record(seenKeyAt(20_005), "here", 1);
  expect(recorder.take(5)).toMatchObject([{ keyId: keyAt(20_005), at: new Date(1) }]);
});

test("at most 2,000 pending values have keys of one owner, and values of other owners are still recorded", () => {
  const recorder = new LastSeenRecorder();
  const owner = "busy user" as UserId; // Nothing here reads an id.
  const recordAll = (nowMs: number): void => {
    for (let place = 0; place < 3_000; place += 1)
      for (let text = 0; text < 6; text += 1) recorder.record({ id: keyAt(place), owner }, `${text}`, nowMs);
  };
  recordAll(0);
  expect(recorder.pendingCount).toBe(2_000);
  const other = { id: keyAt(10_000), owner: "other user" as UserId }; // As above.
  recorder.record(other, "here", 0);
  expect(recorder.take(10_000).at(-1)).toMatchObject({ keyId: other.id });
  // A value that is renewed while it is written still counts toward the owner's share.
  const taken = recorder.take(10_000);
  recordAll(60_000);
  recorder.settle(taken);
  recordAll(60_000);
  expect(recorder.pendingCount).toBe(2_000);
  recorder.settle(recorder.take(10_000));
  expect(recorder.pendingCount).toBe(0);
  recordAll(120_000);
  expect(recorder.pendingCount).toBe(2_000);
});

test("the latest five texts of a key are written", () => {
  const recorder = new LastSeenRecorder();
  for (let place = 0; place < 1_000; place += 1) recorder.record(seenKeyAt(0), `place ${place}`, place);
  recorder.record(seenKeyAt(1), "here", 0);
  expect(recorder.take(1_000).map(({ text }) => text)).toEqual([
    ...[995, 996, 997, 998, 999].map((place) => `place ${place}`),
    "here",
  ]);
});

test("a value that is renewed while it is written is written again", () => {
  const recorder = new LastSeenRecorder();
  recorder.record(seenKeyAt(0), "here", 0);
  const taken = recorder.take(1);
  recorder.record(seenKeyAt(0), "here", 60_000);
  recorder.settle(taken);
  expect(recorder.take(1)).toMatchObject([{ at: new Date(60_000) }]);
});

test("at most 5,000 rejections wait; when the log is full, keys with many of them lose their oldest entries first", () => {
  const log = new RejectionLog<{ readonly keyId: KeyId; readonly requestId: string }>();
  const add = (place: number, requestId: string): void => log.add("user", { keyId: keyAt(place), requestId });
  for (let place = 0; place < 50; place += 1)
    for (let count = 0; count < 110; count += 1) add(place, `${count}`);
  expect(log.pendingCount).toBe(5_000);
  add(50, "late");
  for (let count = 0; count < 500; count += 1) add(count % 50, `flood ${count}`);
  add(0, "late");
  const taken = log.take();
  expect(taken).toHaveLength(5_000);
  const late = taken.filter(({ requestId }) => requestId === "late");
  expect(late.map(({ keyId }) => keyId).toSorted()).toEqual([keyAt(0), keyAt(50)]);
  const ofFirst = taken.filter(({ keyId }) => keyId === keyAt(0)).map(({ requestId }) => requestId);
  expect(ofFirst.at(-1)).toBe("late");
  expect(ofFirst).not.toContain("11");
  add(0, "later");
  log.settle(taken);
  expect(log.take().map(({ requestId }) => requestId)).toEqual(["later"]);
  expect(log.pendingCount).toBe(1);
});

test("a flood of rejections with many keys of one owner doesn't displace those of other owners", () => {
  const log = new RejectionLog<{ readonly keyId: KeyId }>();
  for (let owner = 0; owner < 20; owner += 1) log.add(`owner ${owner}`, { keyId: keyAt(owner) });
  for (let place = 100; place < 20_000; place += 1) log.add("busy owner", { keyId: keyAt(place) });
  const kept = new Set(log.take().map(({ keyId }) => keyId));
  expect(kept.size).toBe(5_000);
  expect(Array.from({ length: 20 }, (_, place) => keyAt(place)).filter((keyId) => !kept.has(keyId))).toEqual(
    [],
  );
});
