import { expect, test } from "vitest";
import { etagOf } from "./entity-tag.ts";

const key = { id: "key_1", name: "CI", usageCount: 1, version: 3 };

test("the tag has the version, and covers all fields except those that are left out and the secret", () => {
  const fields = ["usageCount"];
  const tag = etagOf(key, { fields });
  expect(tag).toMatch(/^"3\.[\w-]{11}"$/);
  expect(etagOf({ ...key, usageCount: 2 }, { fields })).toBe(tag);
  expect(etagOf({ ...key, name: "CD" }, { fields })).not.toBe(tag);
  const rotated = { ...key, key: "lk_x", secretStatus: "issued" };
  expect(etagOf(rotated, { fields, secret: "key" })).toBe(tag);
  expect(etagOf(rotated, { fields })).not.toBe(tag);
});

test("data that has the names of the secret is covered", () => {
  const [one, two] = [1, 2].map((value) => etagOf({ ...key, meta: { key: value } }, { secret: "key" }));
  expect(one).not.toBe(two);
});

test("a response of an earlier version of Latchkey, which has no version of the resource, has no tag", () => {
  expect(etagOf({ id: "key_1", secretStatus: "omitted" }, { secret: "key" })).toBeUndefined();
});
