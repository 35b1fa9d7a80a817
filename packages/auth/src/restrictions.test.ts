import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings, type SettingName, settingNames } from "@latchkey/db/key-settings";
import { describe, expect, test } from "vitest";
import { listPermissions, permissions, roles } from "./permissions.ts";
import {
  canGrantRole,
  canInviteAs,
  compileRestrictions,
  isRestricted,
  listExpanded,
  type Restrictions,
  readableWorkspaces,
} from "./restrictions.ts";

const restrict = (change: Partial<KeySettings>) => compileRestrictions({ ...defaultSettings, ...change });

function listGrants(restrictions: Restrictions | undefined) {
  return Object.fromEntries(
    roles.map((role) => [role, roles.filter((granted) => canGrantRole(role, restrictions, granted))]),
  );
}

test("a user can't give or take a role with more permissions than their own", () => {
  expect(listGrants(undefined)).toEqual({
    owner: ["owner", "admin", "member", "viewer"],
    admin: ["admin", "member", "viewer"],
    member: [],
    viewer: [],
  });
});

/** The permissions of a member, except for inviting people. */
const ofMembers = ["members:read", "workspace:read", "keyspaces:read", "keys:read", "keys:verify"];

test("a user can't invite someone with more permissions than their own", () => {
  const listInvited = (restrictions: Restrictions | undefined) =>
    Object.fromEntries(
      roles.map((role) => [role, roles.filter((granted) => canInviteAs(role, restrictions, granted))]),
    );
  expect(listInvited(undefined)).toEqual({
    owner: ["owner", "admin", "member", "viewer"],
    admin: ["admin", "member", "viewer"],
    member: ["member", "viewer"],
    viewer: [],
  });
  const few = restrict({ permissions: ["members:invite", ...ofMembers] });
  const some = {
    owner: ["member", "viewer"],
    admin: ["member", "viewer"],
    member: ["member", "viewer"],
    viewer: [],
  };
  expect(listInvited(few)).toEqual(some);
  // A key from before members could invite.
  expect(listInvited(restrict({ permissions: ["members:manage", ...ofMembers] }))).toEqual(some);
  expect(listInvited(restrict({ permissions: ["members:invite"] })).owner).toEqual([]);
  expect(listInvited(restrict({ isReadOnly: true })).owner).toEqual([]);
});

test("a key needs every permission of a role to give or take it", () => {
  const permissions = listPermissions("admin");
  expect(listGrants(restrict({ permissions }))).toMatchObject({ admin: ["admin", "member", "viewer"] });
  // Managing members includes inviting them.
  for (const missing of permissions.filter((permission) => permission !== "members:invite")) {
    const others = permissions.filter((permission) => permission !== missing);
    expect(listGrants(restrict({ permissions: others })).admin).not.toContain("admin");
  }
});

test("a restricted key can't give or take a role with more permissions than the key's", () => {
  const nothing = { owner: [], admin: [], member: [], viewer: [] };
  expect(listGrants(restrict({ permissions: ["members:manage"] }))).toEqual(nothing);
  expect(listGrants(restrict({ isReadOnly: true }))).toEqual(nothing);
  const little = restrict({ permissions: ["members:manage", ...ofMembers] });
  expect(listGrants(little)).toEqual({
    owner: ["member", "viewer"],
    admin: ["member", "viewer"],
    member: [],
    viewer: [],
  });
  const most = restrict({ permissions: permissions.filter((name) => !/delete/.test(name)) });
  expect(listGrants(most).owner).toEqual(["admin", "member", "viewer"]);
});

const [tenant, otherTenant] = ["w", "x"] as unknown as [WorkspaceId, WorkspaceId];
const soon = new Date("2027-01-01T00:00:00Z");
const later = new Date("2028-01-01T00:00:00Z");
const perMinute = { quota: 10, windowSeconds: 60 };

/** A value before and after. */
type Edit = readonly [unknown, unknown];

/** For each setting: edits that reduce the key's access, and edits that expand it. */
const edits: Readonly<
  Record<SettingName, { readonly reduces: readonly [Edit, ...Edit[]]; readonly expands: readonly Edit[] }>
> = {
  isDisabled: { reduces: [[false, true]], expands: [[true, false]] },
  expiresAt: {
    reduces: [[later, soon]],
    expands: [
      [soon, later],
      [soon, null],
    ],
  },
  workspaceIds: {
    reduces: [[[tenant, otherTenant], [otherTenant]]],
    expands: [
      [[tenant], [tenant, otherTenant]],
      [[tenant], [otherTenant]],
      [[tenant], null],
    ],
  },
  permissions: {
    reduces: [
      [["members:read", "audit:read"], ["audit:read"]],
      [["members:manage"], ["members:invite"]],
    ],
    expands: [
      [["members:invite"], ["members:manage"]],
      [["audit:read"], ["members:read"]],
      [["audit:read"], null],
    ],
  },
  isReadOnly: { reduces: [[false, true]], expands: [[true, false]] },
  ipRanges: {
    reduces: [
      [
        ["10.0.0.0/8", "2001:db8::/32"],
        ["10.1.0.0/16", "2001:db8::1"],
      ],
    ],
    expands: [
      [["10.1.0.0/16"], ["10.0.0.0/8"]],
      [["10.0.0.0/8"], ["10.1.0.0/16", "::1"]],
      [["10.0.0.0/8"], null],
    ],
  },
  limit: {
    reduces: [
      [perMinute, { quota: 9, windowSeconds: 61 }],
      [perMinute, { quota: 9, windowSeconds: 60 }],
      [perMinute, { quota: 10, windowSeconds: 61 }],
    ],
    expands: [
      [perMinute, { quota: 11, windowSeconds: 60 }],
      [perMinute, { quota: 10, windowSeconds: 59 }],
      [perMinute, null],
    ],
  },
};

describe.each(settingNames)("an edit of %s", (name) => {
  const list = ([before, after]: Edit) =>
    listExpanded({ ...defaultSettings, [name]: before }, { ...defaultSettings, [name]: after });

  test.each<Edit>([...edits[name].reduces])("can reduce a key's access: %j to %j", (before, after) => {
    expect(list([before, after])).toEqual([]);
    expect(list([before, before])).toEqual([]);
    expect(list([defaultSettings[name], after])).toEqual([]);
  });

  test.each<Edit>([...edits[name].expands])("can expand a key's access: %j to %j", (...edit) => {
    expect(list(edit)).toEqual([name]);
  });

  test("makes the key restricted, unless it only disables the key", () => {
    const settings = { ...defaultSettings, [name]: edits[name].reduces[0][1] };
    expect(isRestricted(settings)).toBe(name !== "isDisabled");
  });
});

test("a key without restrictions compiles to none, and an empty list is a restriction", () => {
  expect(isRestricted(defaultSettings)).toBe(false);
  expect(restrict({})).toBeUndefined();
  // The database enforces these.
  expect(restrict({ expiresAt: soon, limit: perMinute, isDisabled: true })).toBeUndefined();
  expect(restrict({ workspaceIds: [] })).toBeDefined();
});

test("readableWorkspaces returns the workspaces that a key can read", () => {
  expect(readableWorkspaces(undefined)).toBeUndefined();
  expect(readableWorkspaces(restrict({ isReadOnly: true }))).toBeUndefined();
  expect(readableWorkspaces(restrict({ isReadOnly: true, workspaceIds: [tenant] }))).toEqual(
    new Set([tenant]),
  );
  expect(readableWorkspaces(restrict({ permissions: ["audit:read"], workspaceIds: [tenant] }))).toEqual(
    new Set(),
  );
});
