import type { WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { mayGrant, readNarrowing } from "./narrowing.ts";
import { permissions, roles } from "./permissions.ts";

const stored = { workspaceIds: null, permissions: null, isReadOnly: false };

function listGrants(narrowing: ReturnType<typeof readNarrowing>) {
  return Object.fromEntries(
    roles.map((role) => [role, roles.filter((granted) => mayGrant(role, narrowing, granted))]),
  );
}

test("nobody gives or takes more than they hold", () => {
  expect(listGrants(undefined)).toEqual({
    owner: ["owner", "admin", "member", "viewer"],
    admin: ["admin", "member", "viewer"],
    member: [],
    viewer: [],
  });
});

test("nor, with a key that is narrowed, more than the key holds", () => {
  const nothing = { owner: [], admin: [], member: [], viewer: [] };
  expect(listGrants(readNarrowing({ ...stored, permissions: ["members:manage"] }))).toEqual(nothing);
  expect(listGrants(readNarrowing({ ...stored, isReadOnly: true }))).toEqual(nothing);
  const little = readNarrowing({
    ...stored,
    permissions: ["members:manage", "members:read", "workspace:read"],
  });
  expect(listGrants(little)).toEqual({
    owner: ["member", "viewer"],
    admin: ["member", "viewer"],
    member: [],
    viewer: [],
  });
  const most = readNarrowing({ ...stored, permissions: permissions.filter((name) => !/delete/.test(name)) });
  expect(listGrants(most).owner).toEqual(["admin", "member", "viewer"]);
});

test("what holds a key to nothing is no narrowing", () => {
  expect(readNarrowing(stored)).toBeUndefined();
  expect(readNarrowing({ ...stored, workspaceIds: [] as WorkspaceId[] })).toBeDefined();
});
