import type { KeyId, UserId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { LastSeenRecorder } from "./last-seen-recorder.ts";

const key = keyOf("key");
const startMs = 1_000_000;
const minuteMs = 60_000;

/** A key of a user of its own. */
function keyOf(id: string) {
  return { id: id as KeyId, owner: `user of ${id}` as UserId }; // Nothing here reads an id.
}

/** Takes all pending values, as their text and the milliseconds after the start when it was seen. */
function takeAll(recorder: LastSeenRecorder) {
  const taken = recorder.take(100_000);
  recorder.settle(taken);
  return taken.map(({ text, at }) => [text, at.getTime() - startMs]);
}

test("a text that is seen again is recorded again after a minute", () => {
  const recorder = new LastSeenRecorder();
  recorder.record(key, "here", startMs);
  expect(takeAll(recorder)).toEqual([["here", 0]]);
  recorder.record(key, "here", startMs + minuteMs - 1);
  expect(takeAll(recorder)).toEqual([]);
  recorder.record(key, "here", startMs + minuteMs);
  expect(takeAll(recorder)).toEqual([["here", minuteMs]]);
});

test("a clock that was ahead doesn't keep a text from being recorded", () => {
  const recorder = new LastSeenRecorder();
  recorder.record(key, "here", startMs + 60 * minuteMs);
  expect(takeAll(recorder)).toEqual([["here", 60 * minuteMs]]);
  recorder.record(key, "here", startMs);
  recorder.record(key, "here", startMs + minuteMs - 1);
  expect(takeAll(recorder)).toEqual([["here", 0]]);
});

test("the least recently seen texts of a key are forgotten first", () => {
  const recorder = new LastSeenRecorder();
  for (const text of ["a", "b", "c", "d", "e"]) recorder.record(key, text, startMs);
  recorder.record(key, "a", startMs + minuteMs);
  recorder.record(key, "f", startMs + minuteMs);
  expect(recorder.take(10).map(({ text }) => text)).toEqual(["a", "c", "d", "e", "f"]);
  takeAll(recorder);
  recorder.record(key, "a", startMs + minuteMs + 1);
  expect(takeAll(recorder)).toEqual([]);
  recorder.record(key, "b", startMs + minuteMs + 1);
  expect(takeAll(recorder)).toEqual([["b", minuteMs + 1]]);
});

test("20,000 keys are remembered, and the next key clears all of them", () => {
  const recorder = new LastSeenRecorder();
  for (let place = 0; place < 20_000; place += 1) recorder.record(keyOf(`key ${place}`), "here", startMs);
  takeAll(recorder);
  // Another text of a remembered key clears no other key.
  recorder.record(keyOf("key 0"), "there", startMs);
  recorder.record(keyOf("key 1"), "here", startMs);
  expect(takeAll(recorder)).toEqual([["there", 0]]);
  recorder.record(keyOf("another key"), "here", startMs);
  recorder.record(keyOf("key 1"), "here", startMs + 1);
  recorder.record(keyOf("another key"), "here", startMs + 1);
  expect(takeAll(recorder)).toEqual([
    ["here", 0],
    ["here", 1],
  ]);
});

test("a pending value is still renewed while there is no space for more", () => {
  const recorder = new LastSeenRecorder();
  for (let place = 0; place < 20_000; place += 1) recorder.record(keyOf(`key ${place}`), "here", startMs);
  recorder.record(keyOf("key 0"), "here", startMs + minuteMs);
  recorder.record(keyOf("key 0"), "there", startMs + minuteMs);
  expect(recorder.pendingCount).toBe(20_000);
  expect(recorder.take(1)).toMatchObject([{ text: "here", at: new Date(startMs + minuteMs) }]);
});
