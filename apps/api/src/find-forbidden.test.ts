import { expect, test } from "vitest";
import { findForbidden } from "./find-forbidden.ts";

test.each([
  ["a string", "\0", ""],
  ["a member", { name: "a\0b" }, "name"],
  ["an item of a member", { items: ["a", { deep: "\0" }] }, "items.1.deep"],
  ["the name of a member", { settings: { "\0": 1 } }, "settings"],
  ["a string that ends in half of a pair", { meta: { plan: "\ud800" } }, "meta.plan"],
  ["a name that is half of a pair", { meta: { "\udc00": 1 } }, "meta"],
  ["a member __proto__", JSON.parse('{"items":[{"__proto__":{}}]}'), "items.0"],
])("finds U+0000, a lone surrogate or __proto__ in %s", (_what, json, path) => {
  expect(findForbidden(json)).toBe(path);
});

test.each([undefined, null, 5, "a", "🔑", { name: "a", items: [1, null, "b"] }])(
  "finds neither in %j",
  (json) => {
    expect(findForbidden(json)).toBeUndefined();
  },
);

test("walks a value that is nested 50,000 levels deep", () => {
  let json: unknown = "\0";
  for (let level = 0; level < 50_000; level += 1) json = [json];
  expect(findForbidden(json)).toBeDefined();
});

test("rejects an object with more than 1,000 fields at any depth, and accepts a longer array", () => {
  const objectOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
  expect(findForbidden([{ a: objectOf(1_000) }])).toBeUndefined();
  expect(findForbidden(Array.from({ length: 2_000 }, () => 1))).toBeUndefined();
  expect(() => findForbidden([{ a: objectOf(1_001) }])).toThrow("more than 1,000 fields");
});
