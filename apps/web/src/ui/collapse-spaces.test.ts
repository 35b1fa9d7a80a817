import { expect, test } from "vitest";
import { collapseSpaces } from "./collapse-spaces.ts";

test("makes one space of each run of spaces, tabs and no-break spaces, and none at the ends", () => {
  expect(collapseSpaces("\u00a0 Ada \t\u00a0 Lovelace\n")).toBe("Ada Lovelace");
  expect(collapseSpaces(" \t")).toBe("");
});
