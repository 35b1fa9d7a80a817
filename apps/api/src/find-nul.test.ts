import { expect, test } from "vitest";
import { findNul } from "./find-nul.ts";

test.each([
  ["a string", "\0", ""],
  ["a member", { name: "a\0b" }, "name"],
  ["an item of a member", { items: ["a", { deep: "\0" }] }, "items.1.deep"],
  ["the name of a member", { settings: { "\0": 1 } }, "settings"],
])("finds it in %s", (_what, json, path) => {
  expect(findNul(json)).toBe(path);
});

test.each([undefined, null, 5, "a", { name: "a", items: [1, null, "b"] }])("finds none in %j", (json) => {
  expect(findNul(json)).toBeUndefined();
});

test("walks a value that is nested 50,000 levels deep", () => {
  let json: unknown = "\0";
  for (let level = 0; level < 50_000; level += 1) json = [json];
  expect(findNul(json)).toBeDefined();
});
