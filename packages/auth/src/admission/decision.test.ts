import type { WorkspaceId } from "@latchkey/db/ids";
import { policyRules } from "@latchkey/db/key-policy";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { describe, expect, test } from "vitest";
import { permissions, roleHasPermission, roles } from "../permissions.ts";
import { compileRestrictions } from "../restrictions.ts";
import { decide, type KeyFacts, type Membership, type Requirement } from "./decision.ts";
import { membershipAs, validFacts } from "./facts.test-kit.ts";

const tenant = "w" as WorkspaceId;
const otherTenant = "x" as WorkspaceId;
const allowed = { kind: "allowed" };
const rejected = (reason: string) => ({ kind: "rejected", reason });

const restrict = (change: Partial<KeySettings>) => compileRestrictions({ ...defaultSettings, ...change });

function decideWith(change: Partial<KeyFacts>, requirement?: Requirement, address?: string) {
  return decide({ ...validFacts, ...change }, { requirement, address });
}

describe("the key", () => {
  test.each([
    ["a valid key", {}, allowed],
    ["a deleted key", { isDeleted: true }, rejected("deleted")],
    ["a key of a disabled user", { isUserDisabled: true }, rejected("user-disabled")],
    ["a deleted key of a disabled user", { isDeleted: true, isUserDisabled: true }, rejected("deleted")],
    ["a disabled key", { isDisabled: true }, rejected("disabled")],
    ["an expired key", { isExpired: true }, rejected("expired")],
    ["an old secret in its overlap", { isFormerSecret: true }, allowed],
    [
      "an old secret after its overlap",
      { isFormerSecret: true, hasOverlapEnded: true },
      rejected("rotated-out"),
    ],
  ] as const)("is decided the same for every requirement: %s", (_what, change, decision) => {
    expect(decideWith(change)).toEqual(decision);
    const requirement = { workspaceId: tenant, permission: "workspace:read" } as const;
    expect(
      decideWith({ ...change, memberships: new Map([[tenant, membershipAs("owner")]]) }, requirement),
    ).toEqual(decision);
  });

  test("is allowed only from its IP ranges, and not from an unknown address", () => {
    const restrictions = restrict({ ipRanges: ["10.0.0.0/8", "2001:db8::/32"] });
    expect(decideWith({ restrictions })).toEqual(rejected("address"));
    expect(decideWith({ restrictions }, undefined, "10.1.2.3")).toEqual(allowed);
    expect(decideWith({ restrictions }, undefined, "2001:db8::1")).toEqual(allowed);
    expect(decideWith({ restrictions }, undefined, "11.0.0.1")).toEqual(rejected("address"));
    expect(decideWith({ restrictions }, undefined, "2001:db9::1")).toEqual(rejected("address"));
    expect(decideWith({ restrictions })).toEqual(rejected("address"));
  });
});

describe("a disabled workspace", () => {
  const requirement = { workspaceId: tenant, permission: "keyspaces:manage" } as const;
  const decideIn = (membership: Membership, settings: Partial<KeySettings> = {}) =>
    decideWith(
      { memberships: new Map([[tenant, membership]]), restrictions: restrict(settings) },
      requirement,
    );

  test("is the reason only for requests that would be allowed otherwise", () => {
    const isWorkspaceDisabled = true;
    expect(decideIn(membershipAs("owner"))).toEqual(allowed);
    expect(decideIn(membershipAs("owner", { isWorkspaceDisabled }))).toEqual(rejected("workspace-disabled"));
    expect(decideIn(membershipAs("viewer", { isWorkspaceDisabled }))).toEqual(rejected("no-permission"));
    expect(decideIn(membershipAs("owner", { isWorkspaceDisabled, isBlocked: true }))).toEqual(
      rejected("blocked"),
    );
    expect(decideIn(membershipAs("owner", { isWorkspaceDisabled }), { isReadOnly: true })).toEqual(
      rejected("permission-not-in-key"),
    );
    expect(decideIn(membershipAs("owner", { isWorkspaceDisabled }), { workspaceIds: [otherTenant] })).toEqual(
      rejected("workspace-not-in-key"),
    );
  });
});

test("a service account whose workspace is disabled is rejected without a workspace too, if nothing else is wrong", () => {
  const isServiceWorkspaceDisabled = true;
  for (const requirement of [undefined, "unrestricted"] as const) {
    expect(decideWith({}, requirement)).toEqual(allowed);
    expect(decideWith({ isServiceWorkspaceDisabled }, requirement)).toEqual(rejected("workspace-disabled"));
    expect(decideWith({ isServiceWorkspaceDisabled, isExpired: true }, requirement)).toEqual(
      rejected("expired"),
    );
    const restrictions = restrict({ ipRanges: ["192.0.2.0/24"] });
    expect(decideWith({ isServiceWorkspaceDisabled, restrictions }, requirement, "203.0.113.7")).toEqual(
      rejected("address"),
    );
  }
  const restrictions = restrict({ isReadOnly: true });
  expect(decideWith({ isServiceWorkspaceDisabled, restrictions }, "unrestricted")).toEqual(
    rejected("narrowed"),
  );
});

describe("the requirement", () => {
  test.each(roles.flatMap((role) => permissions.map((permission) => [role, permission] as const)))(
    "is decided by the permissions of the role %s: %s",
    (role, permission) => {
      const change = { memberships: new Map([[tenant, membershipAs(role)]]) };
      const requirement = { workspaceId: tenant, permission };
      const byRole = roleHasPermission(role, permission) ? allowed : rejected("no-permission");
      expect(decideWith(change, requirement)).toEqual(byRole);
      expect(decideWith(change, { ...requirement, workspaceId: otherTenant })).toEqual(rejected("no-member"));
    },
  );

  const owner = {
    memberships: new Map([tenant, otherTenant].map((id) => [id, membershipAs("owner")] as const)),
  };

  test("a restricted key can access only its selected workspaces", () => {
    const restricted = { ...owner, restrictions: restrict({ workspaceIds: [tenant] }) };
    const permission = "workspace:delete";
    expect(decideWith(restricted, { workspaceId: tenant, permission })).toEqual(allowed);
    expect(decideWith(restricted, { workspaceId: otherTenant, permission })).toEqual(
      rejected("workspace-not-in-key"),
    );
  });

  test.each(permissions)("is decided for read-only keys and keys with one permission: %s", (permission) => {
    const requirement = { workspaceId: tenant, permission };
    const readOnly = { ...owner, restrictions: restrict({ isReadOnly: true }) };
    const restricted = { ...owner, restrictions: restrict({ permissions: ["members:manage"] }) };
    const notInKey = rejected("permission-not-in-key");
    expect(decideWith(readOnly, requirement)).toEqual(permission.endsWith(":read") ? allowed : notInKey);
    expect(decideWith(restricted, requirement)).toEqual(
      // Managing members includes inviting them.
      /^members:(manage|invite)$/.test(permission) ? allowed : notInKey,
    );
  });

  test("a key never has more permissions than its user", () => {
    const restricted = {
      memberships: new Map([[tenant, membershipAs("viewer")] as const]),
      restrictions: restrict({ permissions: ["members:manage"] }),
    };
    const requirement = { workspaceId: tenant, permission: "members:manage" } as const;
    expect(decideWith(restricted, requirement)).toEqual(rejected("no-permission"));
  });

  test("for an unrestricted key is met only by keys without limited access", () => {
    expect(decideWith({}, "unrestricted")).toEqual(allowed);
    const anyAddress = restrict({ ipRanges: ["0.0.0.0/0"] });
    expect(decideWith({ restrictions: anyAddress }, "unrestricted", "192.0.2.1")).toEqual(allowed);
    for (const change of [
      { workspaceIds: [tenant] },
      { permissions: [...permissions] },
      { isReadOnly: true },
    ]) {
      expect(decideWith({ restrictions: restrict(change) }, "unrestricted")).toEqual(rejected("narrowed"));
      const both = restrict({ ...change, ipRanges: ["0.0.0.0/0"] });
      expect(decideWith({ restrictions: both }, "unrestricted", "192.0.2.1")).toEqual(rejected("narrowed"));
    }
  });
});

describe("a workspace", () => {
  const requirement = { workspaceId: tenant, permission: "workspace:read" } as const;
  const decideHere = (change: Partial<Membership>, more: Partial<KeyFacts> = {}) =>
    decideWith({ memberships: new Map([[tenant, membershipAs("owner", change)]]), ...more }, requirement);

  test("rejects a key that it blocks, whatever its policy and the role of the owner", () => {
    expect(decideHere({})).toEqual(allowed);
    expect(decideHere({ isBlocked: true })).toEqual(rejected("blocked"));
    expect(decideHere({ isBlocked: true, violation: "idle", role: "viewer" })).toEqual(rejected("blocked"));
  });

  test.each(policyRules)("rejects a key that violates its policy: %s", (violation) => {
    expect(decideHere({ violation })).toEqual(rejected("policy"));
    expect(decideHere({ violation, role: "viewer" })).toEqual(rejected("policy"));
  });

  test("accepts a key until it becomes idle, which the database decides", () => {
    expect(decideHere({ idleAt: "2000-01-01T00:00:00+00:00" })).toEqual(allowed);
  });

  test("decides nothing about other workspaces, or requests without a workspace", () => {
    const memberships = new Map([
      [tenant, membershipAs("owner", { isBlocked: true, violation: "idle" })],
      [otherTenant, membershipAs("owner")],
    ]);
    expect(decideWith({ memberships }, { ...requirement, workspaceId: otherTenant })).toEqual(allowed);
    expect(decideWith({ memberships })).toEqual(allowed);
    expect(decideWith({ memberships }, "unrestricted")).toEqual(allowed);
  });

  test("is not mentioned for a key that is restricted to other workspaces, or whose owner left", () => {
    const blocked = { isBlocked: true };
    expect(decideHere(blocked, { restrictions: restrict({ workspaceIds: [otherTenant] }) })).toEqual(
      rejected("workspace-not-in-key"),
    );
    expect(decideHere(blocked, { memberships: new Map() })).toEqual(rejected("no-member"));
  });
});
