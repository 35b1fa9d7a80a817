import { expect, test } from "vitest";
import { createId, decodeId, encodeId } from "./ids.ts";

test("an encoded ID decodes to the same ID", () => {
  const id = createId("key");
  const text = encodeId("key", id);
  expect(text).toMatch(/^key_[0-7][0-9a-z]{25}$/);
  expect(decodeId("key", text)).toBe(id);
});

test("new IDs sort by the millisecond of their creation", () => {
  const milliseconds = Array.from({ length: 50 }, () => encodeId("key", createId("key")).slice(0, 14));
  expect(milliseconds.toSorted()).toEqual(milliseconds);
});

test.each([
  ["another kind's prefix", encodeId("user", createId("user"))],
  ["no prefix", "01h455vb4pex5vsknk084sn02q"],
  ["too many bits", "key_81h455vb4pex5vsknk084sn02q"],
  ["a letter outside the alphabet", "key_01h455vb4pex5vsknk084sn0lq"],
  ["upper case", "key_01H455VB4PEX5VSKNK084SN02Q"],
  ["a plain UUID", "0188bac7-4afa-78aa-bc3b-bd1eef28d881"],
  ["nothing", ""],
])("rejects an ID with %s", (_what, text) => {
  expect(decodeId("key", text)).toBeUndefined();
});

test("an ID starts with the given time and is a UUIDv7", () => {
  const at = new Date("2026-03-02T12:00:00.123Z");
  const [one, other] = [createId("keyRejection", at), createId("keyRejection", at)];
  expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Number.parseInt(one.replaceAll("-", "").slice(0, 12), 16)).toBe(at.getTime());
  expect(other).not.toBe(one);
});
