import type { KeyId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { LastSeenRecorder } from "./last-seen-recorder.ts";

const key = "key" as KeyId;
const startMs = 1_000_000;
const minuteMs = 60_000;

/** Takes all pending sightings, as their text and the milliseconds after the start when it was seen. */
function takeAll(sightings: LastSeenRecorder) {
  const taken = sightings.take(100_000);
  sightings.settle(taken);
  return taken.map(({ text, at }) => [text, at.getTime() - startMs]);
}

test("a text that is seen again is recorded again after a minute", () => {
  const sightings = new LastSeenRecorder();
  sightings.record(key, "here", startMs);
  expect(takeAll(sightings)).toEqual([["here", 0]]);
  sightings.record(key, "here", startMs + minuteMs - 1);
  expect(takeAll(sightings)).toEqual([]);
  sightings.record(key, "here", startMs + minuteMs);
  expect(takeAll(sightings)).toEqual([["here", minuteMs]]);
});

test("the least recently seen texts of a key are forgotten first", () => {
  const sightings = new LastSeenRecorder();
  for (const text of ["a", "b", "c", "d", "e"]) sightings.record(key, text, startMs);
  sightings.record(key, "a", startMs + minuteMs);
  sightings.record(key, "f", startMs + minuteMs);
  expect(sightings.take(10).map(({ text }) => text)).toEqual(["a", "c", "d", "e", "f"]);
  takeAll(sightings);
  sightings.record(key, "a", startMs + minuteMs + 1);
  expect(takeAll(sightings)).toEqual([]);
  sightings.record(key, "b", startMs + minuteMs + 1);
  expect(takeAll(sightings)).toEqual([["b", minuteMs + 1]]);
});

test("20,000 keys are remembered; another one makes all of them forgotten", () => {
  const sightings = new LastSeenRecorder();
  for (let place = 0; place < 20_000; place += 1) sightings.record(`key ${place}` as KeyId, "here", startMs);
  takeAll(sightings);
  // Another text of a remembered key makes nothing forgotten.
  sightings.record("key 0" as KeyId, "there", startMs);
  sightings.record("key 1" as KeyId, "here", startMs);
  expect(takeAll(sightings)).toEqual([["there", 0]]);
  sightings.record("another key" as KeyId, "here", startMs);
  sightings.record("key 1" as KeyId, "here", startMs + 1);
  sightings.record("another key" as KeyId, "here", startMs + 1);
  expect(takeAll(sightings)).toEqual([
    ["here", 0],
    ["here", 1],
  ]);
});

test("a pending sighting is still renewed while there is no room for more", () => {
  const sightings = new LastSeenRecorder();
  for (let place = 0; place < 20_000; place += 1) sightings.record(`key ${place}` as KeyId, "here", startMs);
  sightings.record("key 0" as KeyId, "here", startMs + minuteMs);
  sightings.record("key 0" as KeyId, "there", startMs + minuteMs);
  expect(sightings.pendingCount).toBe(20_000);
  expect(sightings.take(1)).toMatchObject([{ text: "here", at: new Date(startMs + minuteMs) }]);
});
