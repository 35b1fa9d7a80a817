import { expect, test } from "vitest";
import { initialsOf } from "./initials.ts";

test.each([
  ["Ada Lovelace", "AL"],
  ["ada", "A"],
  [" Ada  King Lovelace ", "AL"],
  ["Émile Zola", "ÉZ"],
  ["", ""],
])("stands for “%s” with “%s”", (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});
