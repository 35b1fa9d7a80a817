import { expect, test } from "vitest";
import { describeHolders, isRole, rolesWithPermission, withArticle } from "./roles.ts";

const description = "See who changed what in the workspace." as const;

test("lists the roles that have a permission", () => {
  const table = [{ name: "audit:read" as const, description, roles: ["owner" as const, "admin" as const] }];
  const holders = rolesWithPermission(table, "audit:read");
  expect(describeHolders(holders)).toBe("owners and admins");
  expect(rolesWithPermission([], "audit:read")).toEqual([]);
});

test("adds the indefinite article to a role", () => {
  expect(withArticle("admin")).toBe("an admin");
  expect(withArticle("viewer")).toBe("a viewer");
});

test("recognizes roles, and rejects other values", () => {
  expect(isRole("admin")).toBe(true);
  expect(isRole("toString")).toBe(false);
  expect(isRole(undefined)).toBe(false);
});
