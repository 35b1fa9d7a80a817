import { expect, test } from "vitest";
import { collapseSpaces } from "./collapse-spaces.ts";

test("trims whitespace, and replaces each run of spaces, tabs and no-break spaces by one space", () => {
  expect(collapseSpaces("\u00a0 Ada \t\u00a0 Lovelace\n")).toBe("Ada Lovelace");
  expect(collapseSpaces(" \t")).toBe("");
});
