import type { KeyId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { MinuteNotes } from "./minute-notes.ts";

const key = "key" as KeyId;
const startMs = 1_000_000;
const minuteMs = 60_000;

/** Takes all waiting notes, as their text and the milliseconds after the start when it was seen. */
function takeAll(notes: MinuteNotes) {
  const taken = notes.take(100_000);
  notes.settle(taken);
  return taken.map(({ text, at }) => [text, at.getTime() - startMs]);
}

test("a text that is seen again is recorded again after a minute", () => {
  const notes = new MinuteNotes();
  notes.note(key, "here", startMs);
  expect(takeAll(notes)).toEqual([["here", 0]]);
  notes.note(key, "here", startMs + minuteMs - 1);
  expect(takeAll(notes)).toEqual([]);
  notes.note(key, "here", startMs + minuteMs);
  expect(takeAll(notes)).toEqual([["here", minuteMs]]);
});

test("the least recently seen texts of a key are forgotten first", () => {
  const notes = new MinuteNotes();
  for (const text of ["a", "b", "c", "d", "e"]) notes.note(key, text, startMs);
  notes.note(key, "a", startMs + minuteMs);
  notes.note(key, "f", startMs + minuteMs);
  expect(notes.take(10).map(({ text }) => text)).toEqual(["a", "c", "d", "e", "f"]);
  takeAll(notes);
  notes.note(key, "a", startMs + minuteMs + 1);
  expect(takeAll(notes)).toEqual([]);
  notes.note(key, "b", startMs + minuteMs + 1);
  expect(takeAll(notes)).toEqual([["b", minuteMs + 1]]);
});

test("20,000 keys are remembered; another one makes all of them forgotten", () => {
  const notes = new MinuteNotes();
  for (let place = 0; place < 20_000; place += 1) notes.note(`key ${place}` as KeyId, "here", startMs);
  takeAll(notes);
  // Another text of a remembered key makes nothing forgotten.
  notes.note("key 0" as KeyId, "there", startMs);
  notes.note("key 1" as KeyId, "here", startMs);
  expect(takeAll(notes)).toEqual([["there", 0]]);
  notes.note("another key" as KeyId, "here", startMs);
  notes.note("key 1" as KeyId, "here", startMs + 1);
  notes.note("another key" as KeyId, "here", startMs + 1);
  expect(takeAll(notes)).toEqual([
    ["here", 0],
    ["here", 1],
  ]);
});

test("a waiting note is still renewed while there is no room for more", () => {
  const notes = new MinuteNotes();
  for (let place = 0; place < 20_000; place += 1) notes.note(`key ${place}` as KeyId, "here", startMs);
  notes.note("key 0" as KeyId, "here", startMs + minuteMs);
  notes.note("key 0" as KeyId, "there", startMs + minuteMs);
  expect(notes.waiting).toBe(20_000);
  expect(notes.take(1)).toMatchObject([{ text: "here", at: new Date(startMs + minuteMs) }]);
});
