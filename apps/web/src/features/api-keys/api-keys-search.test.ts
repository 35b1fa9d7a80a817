import { expect, test } from "vitest";
import { parseApiKeysSearch } from "./api-keys-search.ts";

test("reads search, page and dialog", () => {
  expect(parseApiKeysSearch({ q: "ci", page: "3", dialog: "new" })).toEqual({
    q: "ci",
    page: 3,
    dialog: "new",
  });
});

test.each(["1", "0", "-2", "1.5", "x", "", "1e400", undefined])("takes page %j for the first", (page) => {
  expect(parseApiKeysSearch({ page })).toEqual({});
});

test("drops an empty search and unknown dialogs", () => {
  expect(parseApiKeysSearch({ q: "  ", dialog: "delete" })).toEqual({});
});
