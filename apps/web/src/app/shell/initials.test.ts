import { expect, test } from "vitest";
import { initialsOf } from "./initials.ts";

test.each([
  ["Ada Lovelace", "AL"],
  ["ada", "A"],
  [" Ada  King Lovelace ", "AL"],
  ["Émile Zola", "ÉZ"],
  ["", ""],
])("abbreviates “%s” to “%s”", (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});
