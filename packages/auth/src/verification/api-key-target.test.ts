import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { describe, expect, test } from "vitest";
import type { KeyFacts, Membership } from "../admission/decision.ts";
import { membershipAs, validFacts } from "../admission/facts.test-kit.ts";
import { listPermissions } from "../permissions.ts";
import { compileRestrictions } from "../restrictions.ts";
import { toApiKeyTarget } from "./api-key-target.ts";
import { compilePermissions } from "./permission-query.ts";
import { workspaceId } from "./verifiable-key.test-kit.ts";

/** An API key of a member as a target in the workspace, with changes to its facts and to the membership. */
function targetOf(facts: Partial<KeyFacts> = {}, membership: Partial<Membership> = {}) {
  const memberships = new Map([[workspaceId, membershipAs("member", membership)]]);
  return toApiKeyTarget({ ...validFacts, memberships, ...facts }, workspaceId);
}

const restrict = (change: Partial<KeySettings>) => compileRestrictions({ ...defaultSettings, ...change });
const time = "2027-01-01T00:00:00+00:00";
const timeMs = Date.UTC(2027);

test("an API key without restrictions has the permissions of its user, and neither limits nor a name", () => {
  const permissions = listPermissions("member");
  expect(targetOf({ version: 7, ownerVersion: 3 })).toEqual({
    keyId: validFacts.keyId,
    workspaceId,
    keyspaceId: null,
    version: 7,
    owner: { id: validFacts.userId, version: 3 },
    workspaceVersion: null,
    isDisabled: false,
    isUnusedSecret: false,
    isInUse: true,
    expiresAt: null,
    overlapEndsAt: null,
    name: null,
    meta: null,
    permissions,
    grantedPermissions: compilePermissions(permissions),
    limits: [],
    refill: null,
    hasCredits: false,
    idleAt: null,
    allowsAddress: undefined,
    ipRangeCount: 0,
    consumer: null,
  });
});

describe("an API key can't be found", () => {
  test.each<[string, Partial<KeyFacts>]>([
    ["if it was deleted", { isDeleted: true }],
    ["with an old secret after its overlap", { hasOverlapEnded: true }],
    ["in a workspace that its user doesn't belong to", { memberships: new Map() }],
    [
      "in a workspace that isn't among its own",
      { restrictions: restrict({ workspaceIds: ["elsewhere" as WorkspaceId] }) },
    ],
  ])("%s", (_when, facts) => {
    expect(targetOf(facts)).toBeUndefined();
  });
});

describe("an API key is disabled", () => {
  test.each<[string, Partial<KeyFacts>, Partial<Membership>]>([
    ["by itself", { isDisabled: true }, {}],
    ["with its user", { isUserDisabled: true }, {}],
    ["if the workspace blocks it", {}, { isBlocked: true }],
    ["if it violates the policy of the workspace", {}, { violation: "idle" }],
    ["with the workspace", {}, { isWorkspaceDisabled: true }],
  ])("%s", (_when, facts, membership) => {
    expect(targetOf(facts, membership)?.isDisabled).toBe(true);
  });
});

test("a restricted API key has its own permissions among those of its user, and its own IP ranges", () => {
  const readOnly = targetOf({ restrictions: restrict({ isReadOnly: true }) });
  expect(readOnly?.permissions).toEqual(["workspace:read", "members:read", "keyspaces:read", "keys:read"]);
  expect(readOnly?.grantedPermissions).toEqual(compilePermissions(readOnly?.permissions ?? []));
  expect(readOnly?.allowsAddress).toBeUndefined();
  const ranged = targetOf({ restrictions: restrict({ isReadOnly: true, ipRanges: ["192.0.2.0/24"] }) });
  expect(["192.0.2.1", "198.51.100.1"].map((address) => ranged?.allowsAddress?.(address))).toEqual([
    true,
    false,
  ]);
});

test("the rate limit of an API key applies to every verification", () => {
  expect(targetOf({ limit: { quota: 10, windowSeconds: 60 } })?.limits).toEqual([
    { name: "", quota: 10, windowSeconds: 60, appliesAlways: true },
  ]);
});

test("times are in milliseconds", () => {
  expect(targetOf({ expiresAt: time, isUnusedSecret: true }, { idleAt: time })).toMatchObject({
    expiresAt: timeMs,
    overlapEndsAt: null,
    idleAt: timeMs,
    isUnusedSecret: true,
  });
  expect(targetOf({ overlapEndsAt: time })).toMatchObject({ expiresAt: null, overlapEndsAt: timeMs });
});

test("facts about a key that is already idle or expired don't become outdated when it would become idle", () => {
  expect(targetOf({}, { idleAt: time, violation: "idle" })?.idleAt).toBeNull();
  expect(targetOf({ isExpired: true }, { idleAt: time })?.idleAt).toBeNull();
});
