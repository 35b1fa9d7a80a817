import { expect, test } from "vitest";
import {
  changesBetween,
  tidied,
  valuesOf,
  type WorkspaceValues,
  workspaceRules,
} from "./workspace-values.ts";

test("asks for a name that is more than spaces, of at most 100 characters", () => {
  expect(workspaceRules.name(" \u00a0\t")).toBe("Enter a name, for example your team’s name.");
  expect(workspaceRules.name("a".repeat(100))).toBeNull();
  expect(workspaceRules.name("a".repeat(101))).toBe("Use at most 100 characters; these are 101.");
});

test("takes a description of at most 500 characters, or none", () => {
  expect(workspaceRules.description("")).toBeNull();
  expect(workspaceRules.description(` ${"a".repeat(500)}\n`)).toBeNull();
  expect(workspaceRules.description("a".repeat(501))).toBe("Use at most 500 characters; these are 501.");
});

test("finds the fields that differ", () => {
  const before = { name: "Team", description: "Line 1\nLine 2" };
  expect(changesBetween(before, tidied({ name: " Team ", description: "Line 1\nLine 2\n" }))).toEqual({});
  expect(changesBetween(before, { name: "Team", description: "" })).toEqual({ description: "" });
  expect(changesBetween(before, { name: "Crew", description: "Why" })).toEqual({
    name: "Crew",
    description: "Why",
  });
});

test("has an empty description where a node of an earlier version sends none", () => {
  const earlier = { name: "Team" } as WorkspaceValues; // What that node sends.
  expect(valuesOf(earlier)).toEqual({ name: "Team", description: "" });
});
