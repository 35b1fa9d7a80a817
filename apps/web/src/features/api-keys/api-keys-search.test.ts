import { expect, test } from "vitest";
import { parseApiKeysSearch } from "./api-keys-search.ts";

test("reads search, page and dialog", () => {
  expect(parseApiKeysSearch({ q: "ci", page: "3", dialog: "new" })).toEqual({
    q: "ci",
    page: 3,
    dialog: "new",
  });
});

test.each(["1", "0", "-2", "1.5", "x", "", undefined])("takes page %j for the first", (page) => {
  expect(parseApiKeysSearch({ page })).toEqual({});
});

test("drops an empty search and unknown dialogs", () => {
  expect(parseApiKeysSearch({ q: "  ", dialog: "delete" })).toEqual({});
});

test("brings page and search down to what the API takes", () => {
  expect(parseApiKeysSearch({ page: "200000" })).toEqual({ page: 100_000 });
  expect(parseApiKeysSearch({ q: "a".repeat(101) })).toEqual({ q: "a".repeat(100) });
  expect(parseApiKeysSearch({ q: `${"a".repeat(99)}🔑` })).toEqual({ q: `${"a".repeat(99)}\ufffd` });
});
