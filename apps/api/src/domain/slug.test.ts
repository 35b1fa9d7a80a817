import { expect, test } from "vitest";
import { createSlug, randomSlugSuffix } from "./slug.ts";

test.each([
  ["Ada Lovelace’s workspace", "ada-lovelaces-workspace"],
  ["Ölçü  & Co", "olcu-co"],
  ["ACME, Inc.", "acme-inc"],
  ["日本語", "workspace"],
  ["-", "workspace"],
  ["a".repeat(60), "a".repeat(40)],
])("creates a slug from %s", (name, slug) => {
  expect(createSlug(name)).toBe(slug);
});

test("appends a suffix to a slug that is taken", () => {
  expect(createSlug("ACME", "1a2b")).toBe("acme-1a2b");
  expect(randomSlugSuffix()).toMatch(/^[0-9a-z]{4}$/);
});
