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

describe("of the key itself", () => {
  test.each([
    ["one in force", {}, allowed],
    ["a deleted one", { isDeleted: true }, refused("deleted")],
    ["a disabled user's", { isUserDisabled: true }, refused("user-disabled")],
    ["a disabled user's deleted one", { isDeleted: true, isUserDisabled: true }, refused("deleted")],
    ["a disabled one", { isDisabled: true }, refused("disabled")],
    ["an expired one", { isExpired: true }, refused("expired")],
    ["a former secret in its overlap", { isRetired: true }, allowed],
    ["a former secret past its overlap", { isRetired: true, isRotatedOut: true }, refused("rotated-out")],
  ] as const)("judges %s, whatever is asked for", (_what, change, judgement) => {
    expect(judged(change)).toEqual(judgement);
    const requirement = { workspaceId: ours, permission: "workspace:read" } as const;
    expect(judged({ ...change, roles: new Map([[ours, "owner"]]) }, requirement)).toEqual(judgement);
  });

  test("lets it come from its ranges alone, and from nowhere when nobody knows where from", () => {
    const restrictions = restrict({ ipRanges: ["10.0.0.0/8", "2001:db8::/32"] });
    expect(judged({ restrictions })).toEqual(refused("address"));
    expect(judged({ restrictions }, undefined, "10.1.2.3")).toEqual(allowed);
    expect(judged({ restrictions }, undefined, "2001:db8::1")).toEqual(allowed);
    expect(judged({ restrictions }, undefined, "11.0.0.1")).toEqual(refused("address"));
    expect(judged({ restrictions }, undefined, "2001:db9::1")).toEqual(refused("address"));
    expect(judged({ restrictions })).toEqual(refused("address"));
  });
});

describe("of what is asked for", () => {
  test.each(roles.flatMap((role) => permissions.map((permission) => [role, permission] as const)))(
    "judges what %s may do by the table: %s",
    (role, permission) => {
      const change = { roles: new Map([[ours, role]]) };
      const requirement = { workspaceId: ours, permission };
      const byRole = roleHolds(role, permission) ? allowed : refused("no-permission");
      expect(judged(change, requirement)).toEqual(byRole);
      expect(judged(change, { ...requirement, workspaceId: theirs })).toEqual(refused("no-member"));
    },
  );

  const owner = { roles: new Map([ours, theirs].map((id) => [id, "owner"] as const)) };

  test("a key reaches the workspaces that it is held to", () => {
    const held = { ...owner, restrictions: restrict({ workspaceIds: [ours] }) };
    const permission = "workspace:delete";
    expect(judged(held, { workspaceId: ours, permission })).toEqual(allowed);
    expect(judged(held, { workspaceId: theirs, permission })).toEqual(refused("workspace-not-in-key"));
  });

  test.each(permissions)("a key that only reads, and one held to a permission: %s", (permission) => {
    const requirement = { workspaceId: ours, permission };
    const reading = { ...owner, restrictions: restrict({ isReadOnly: true }) };
    const held = { ...owner, restrictions: restrict({ permissions: ["members:manage"] }) };
    const notInKey = refused("permission-not-in-key");
    expect(judged(reading, requirement)).toEqual(permission.endsWith(":read") ? allowed : notInKey);
    expect(judged(held, requirement)).toEqual(permission === "members:manage" ? allowed : notInKey);
  });

  test("a key has no more than its user, whatever it is held to", () => {
    const held = {
      roles: new Map([[ours, "viewer"] as const]),
      restrictions: restrict({ permissions: ["members:manage"] }),
    };
    const requirement = { workspaceId: ours, permission: "members:manage" } as const;
    expect(judged(held, requirement)).toEqual(refused("no-permission"));
  });

  test("what no key with limited access may do", () => {
    expect(judged({}, "unrestricted")).toEqual(allowed);
    const anywhere = restrict({ ipRanges: ["0.0.0.0/0"] });
    expect(judged({ restrictions: anywhere }, "unrestricted", "192.0.2.1")).toEqual(allowed);
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
