import { expect, test } from "vitest";
import { describeHolders, isLower, isRole, rolesHolding, withArticle } from "./roles.ts";

const description = "See who changed what in the workspace." as const;

test("names who holds a permission", () => {
  const table = [{ name: "audit:read" as const, description, roles: ["owner" as const, "admin" as const] }];
  const holders = rolesHolding(table, "audit:read");
  expect(describeHolders(holders)).toBe("owners and admins");
  expect(rolesHolding([], "audit:read")).toEqual([]);
});

test("knows the lower of two roles", () => {
  expect(isLower("viewer", "member")).toBe(true);
  expect(isLower("owner", "owner")).toBe(false);
  expect(isLower("owner", "admin")).toBe(false);
});

test("puts the right article before a role", () => {
  expect(withArticle("admin")).toBe("an admin");
  expect(withArticle("viewer")).toBe("a viewer");
});

test("takes the names of roles for roles, and nothing else", () => {
  expect(isRole("admin")).toBe(true);
  expect(isRole("toString")).toBe(false);
  expect(isRole(undefined)).toBe(false);
});
