import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { describe, expect, test } from "vitest";
import { permissions, roleHolds, roles } from "../permissions.ts";
import { compileRestrictions } from "../restrictions.ts";
import { goodFacts } from "./facts.test-kit.ts";
import { judge, type KeyFacts, type Requirement } from "./judge.ts";

const ours = "w" as WorkspaceId;
const theirs = "x" as WorkspaceId;
const allowed = { kind: "allowed" };
const refused = (reason: string) => ({ kind: "refused", reason });

const restrict = (change: Partial<KeySettings>) => compileRestrictions({ ...defaultSettings, ...change });

function judged(change: Partial<KeyFacts>, requirement?: Requirement, address?: string) {
  return judge({ ...goodFacts, ...change }, { requirement, address });
}

describe("the key", () => {
  test.each([
    ["a valid key", {}, allowed],
    ["a deleted key", { isDeleted: true }, refused("deleted")],
    ["a key of a disabled user", { isUserDisabled: true }, refused("user-disabled")],
    ["a deleted key of a disabled user", { isDeleted: true, isUserDisabled: true }, refused("deleted")],
    ["a disabled key", { isDisabled: true }, refused("disabled")],
    ["an expired key", { isExpired: true }, refused("expired")],
    ["a former secret in its overlap", { isRetired: true }, allowed],
    ["a former secret after its overlap", { isRetired: true, isRotatedOut: true }, refused("rotated-out")],
  ] as const)("is judged the same for every requirement: %s", (_what, change, judgement) => {
    expect(judged(change)).toEqual(judgement);
    const requirement = { workspaceId: ours, permission: "workspace:read" } as const;
    expect(judged({ ...change, roles: new Map([[ours, "owner"]]) }, requirement)).toEqual(judgement);
  });

  test("is allowed only from its IP ranges, and not from an unknown address", () => {
    const restrictions = restrict({ ipRanges: ["10.0.0.0/8", "2001:db8::/32"] });
    expect(judged({ restrictions })).toEqual(refused("address"));
    expect(judged({ restrictions }, undefined, "10.1.2.3")).toEqual(allowed);
    expect(judged({ restrictions }, undefined, "2001:db8::1")).toEqual(allowed);
    expect(judged({ restrictions }, undefined, "11.0.0.1")).toEqual(refused("address"));
    expect(judged({ restrictions }, undefined, "2001:db9::1")).toEqual(refused("address"));
    expect(judged({ restrictions })).toEqual(refused("address"));
  });
});

describe("the requirement", () => {
  test.each(roles.flatMap((role) => permissions.map((permission) => [role, permission] as const)))(
    "is judged by the permissions of the role %s: %s",
    (role, permission) => {
      const change = { roles: new Map([[ours, role]]) };
      const requirement = { workspaceId: ours, permission };
      const byRole = roleHolds(role, permission) ? allowed : refused("no-permission");
      expect(judged(change, requirement)).toEqual(byRole);
      expect(judged(change, { ...requirement, workspaceId: theirs })).toEqual(refused("no-member"));
    },
  );

  const owner = { roles: new Map([ours, theirs].map((id) => [id, "owner"] as const)) };

  test("a restricted key can access only its selected workspaces", () => {
    const restricted = { ...owner, restrictions: restrict({ workspaceIds: [ours] }) };
    const permission = "workspace:delete";
    expect(judged(restricted, { workspaceId: ours, permission })).toEqual(allowed);
    expect(judged(restricted, { workspaceId: theirs, permission })).toEqual(refused("workspace-not-in-key"));
  });

  test.each(permissions)("is judged for read-only keys and keys with one permission: %s", (permission) => {
    const requirement = { workspaceId: ours, permission };
    const readOnly = { ...owner, restrictions: restrict({ isReadOnly: true }) };
    const restricted = { ...owner, restrictions: restrict({ permissions: ["members:manage"] }) };
    const notInKey = refused("permission-not-in-key");
    expect(judged(readOnly, requirement)).toEqual(permission.endsWith(":read") ? allowed : notInKey);
    expect(judged(restricted, requirement)).toEqual(permission === "members:manage" ? allowed : notInKey);
  });

  test("a key never has more permissions than its user", () => {
    const restricted = {
      roles: new Map([[ours, "viewer"] as const]),
      restrictions: restrict({ permissions: ["members:manage"] }),
    };
    const requirement = { workspaceId: ours, permission: "members:manage" } as const;
    expect(judged(restricted, requirement)).toEqual(refused("no-permission"));
  });

  test("for an unrestricted key is met only by keys without limited access", () => {
    expect(judged({}, "unrestricted")).toEqual(allowed);
    const anyAddress = restrict({ ipRanges: ["0.0.0.0/0"] });
    expect(judged({ restrictions: anyAddress }, "unrestricted", "192.0.2.1")).toEqual(allowed);
    for (const change of [
      { workspaceIds: [ours] },
      { permissions: [...permissions] },
      { isReadOnly: true },
    ]) {
      expect(judged({ restrictions: restrict(change) }, "unrestricted")).toEqual(refused("narrowed"));
      const both = restrict({ ...change, ipRanges: ["0.0.0.0/0"] });
      expect(judged({ restrictions: both }, "unrestricted", "192.0.2.1")).toEqual(refused("narrowed"));
    }
  });
});
