import { expect, test } from "vitest";
import { listPermissions, permissionCatalog, permissions, roles } from "./permissions.ts";

test("each role has exactly its documented permissions", () => {
  expect(Object.fromEntries(roles.map((role) => [role, listPermissions(role)]))).toEqual({
    owner: permissions,
    admin: [
      "workspace:read",
      "workspace:update",
      "members:read",
      "members:manage",
      "audit:read",
      "keys:read",
    ],
    member: ["workspace:read", "members:read"],
    viewer: ["workspace:read", "members:read"],
  });
});

test("each role has all permissions of the roles after it", () => {
  for (const [index, role] of roles.entries()) {
    for (const lesser of roles.slice(index))
      expect(listPermissions(role)).toEqual(expect.arrayContaining([...listPermissions(lesser)]));
  }
});

test("each permission is named noun:verb and has a description", () => {
  for (const [name, words] of Object.entries(permissionCatalog)) {
    expect(name).toMatch(/^[a-z-]+:[a-z]+$/);
    expect(words).toMatch(/^[A-Z].*\.$/);
  }
});
