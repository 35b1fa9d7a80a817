import { expect, test } from "vitest";
import {
  expandPermissions,
  isHigherRole,
  listPermissions,
  permissionCatalog,
  permissions,
  roleCatalog,
  roles,
} from "./permissions.ts";

test("each role has exactly its documented permissions", () => {
  expect(Object.fromEntries(roles.map((role) => [role, listPermissions(role)]))).toEqual({
    owner: permissions,
    admin: [
      "workspace:read",
      "workspace:update",
      "members:read",
      "members:invite",
      "members:manage",
      "audit:read",
      "api-keys:read",
      "api-keys:manage",
      "keyspaces:read",
      "keyspaces:manage",
      "keys:read",
      "keys:manage",
      "keys:verify",
      "webhooks:manage",
    ],
    member: [
      "workspace:read",
      "members:read",
      "members:invite",
      "keyspaces:read",
      "keys:read",
      "keys:verify",
    ],
    viewer: ["workspace:read", "members:read", "keyspaces:read", "keys:read"],
  });
});

test("a viewer only reads", () => {
  expect(listPermissions("viewer").filter((permission) => !permission.endsWith(":read"))).toEqual([]);
});

test("each role has all permissions of the roles after it", () => {
  for (const [index, role] of roles.entries()) {
    for (const lesser of roles.slice(index))
      expect(listPermissions(role)).toEqual(expect.arrayContaining([...listPermissions(lesser)]));
  }
});

test("a role is higher than the roles after it, but not higher than itself", () => {
  expect(roles).toEqual(["owner", "admin", "member", "viewer"]);
  const table = roles.map((role) => roles.filter((other) => isHigherRole(role, other)));
  expect(table).toEqual([["admin", "member", "viewer"], ["member", "viewer"], ["viewer"], []]);
});

test("each permission is named noun:verb and has a description", () => {
  for (const [name, words] of Object.entries(permissionCatalog)) {
    expect(name).toMatch(/^[a-z-]+:[a-z]+$/);
    expect(words).toMatch(/^[A-Z].*\.$/);
  }
});

test("each role has a description of what it may change", () => {
  expect(Object.keys(roleCatalog)).toEqual(roles);
  for (const words of Object.values(roleCatalog)) expect(words).toMatch(/^[A-Z].*\.$/);
});

test("the permission to manage members includes inviting them, and no other permission includes any", () => {
  for (const permission of permissions) {
    const expected = permission === "members:manage" ? [permission, "members:invite"] : [permission];
    expect([...expandPermissions([permission])]).toEqual(expected);
  }
  expect([...expandPermissions(["unknown:read", "constructor"])]).toEqual(["unknown:read", "constructor"]);
});
