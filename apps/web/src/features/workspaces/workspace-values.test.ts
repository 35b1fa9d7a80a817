import { expect, test } from "vitest";
import {
  changesBetween,
  normalizeValues,
  valuesOf,
  type WorkspaceValues,
  workspaceRules,
} from "./workspace-values.ts";

test("rejects a blank name and a name of more than 100 characters", () => {
  expect(workspaceRules.name(" \u00a0\t")).toBe("Enter a name, for example your team’s name.");
  expect(workspaceRules.name("a".repeat(100))).toBeNull();
  expect(workspaceRules.name("a".repeat(101))).toBe("Use at most 100 characters. You entered 101.");
  // An emoji of two UTF-16 code units is one character.
  expect(workspaceRules.name("🔑".repeat(100))).toBeNull();
  expect(workspaceRules.name("🔑".repeat(101))).toBe("Use at most 100 characters. You entered 101.");
});

test("accepts an empty description and rejects one of more than 500 characters", () => {
  expect(workspaceRules.description("")).toBeNull();
  expect(workspaceRules.description(` ${"a".repeat(500)}\n`)).toBeNull();
  expect(workspaceRules.description("a".repeat(501))).toBe("Use at most 500 characters. You entered 501.");
  expect(workspaceRules.description("🔑".repeat(500))).toBeNull();
});

test("finds the fields that differ", () => {
  const before = { name: "Team", description: "Line 1\nLine 2" };
  const unchanged = normalizeValues({ name: " Team ", description: "Line 1\nLine 2\n" });
  expect(changesBetween(before, unchanged)).toEqual({});
  expect(changesBetween(before, { name: "Team", description: "" })).toEqual({ description: "" });
  expect(changesBetween(before, { name: "Crew", description: "Why" })).toEqual({
    name: "Crew",
    description: "Why",
  });
});

test("uses an empty description if a node of an earlier version sends none", () => {
  const earlier = { name: "Team" } as WorkspaceValues; // What that node sends.
  expect(valuesOf(earlier)).toEqual({ name: "Team", description: "" });
});
