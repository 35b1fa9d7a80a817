import { expect, test } from "vitest";
import { describeStatus, isStatusFilter, isWorkspaceStatusFilter, type KeyState } from "./key-status.ts";

const now = new Date("2026-03-15T12:00:00Z");
const key: KeyState = { isDisabled: false, expiresAt: null, isRotating: false };
const labels = (state: Partial<KeyState>) =>
  describeStatus({ ...key, ...state }, now).map(({ label }) => label);

test.each<[Partial<KeyState>, string[]]>([
  [{}, ["Active"]],
  [{ expiresAt: "2026-04-15T12:00:00Z" }, ["Active"]],
  [{ expiresAt: "2026-04-14T12:00:00Z" }, ["Active"]],
  [{ expiresAt: "2026-03-20T13:00:00Z" }, ["Expires in 5 days"]],
  [{ expiresAt: "2026-03-16T12:00:00Z" }, ["Expires in 1 day"]],
  [{ expiresAt: "2026-03-15T14:59:00Z" }, ["Expires in 2 hours"]],
  [{ expiresAt: "2026-03-15T12:59:00Z" }, ["Expires in 59 min"]],
  [{ expiresAt: "2026-03-15T12:00:00Z", isRotating: true }, ["Expired"]],
  [{ isDisabled: true, expiresAt: "2026-03-01T12:00:00Z", isRateLimited: true }, ["Disabled"]],
  [{ isOwnerDisabled: true }, ["Owner disabled"]],
  [{ isRotating: true, isRateLimited: true }, ["Rotating", "Rate limited"]],
  [{ isBlocked: true, violation: "idle", isRotating: true }, ["Blocked here"]],
  [{ violation: "idle", isRotating: true }, ["Idle"]],
  [{ violation: "second-factor-required", isRotating: true }, ["No second factor"]],
  [{ violation: "max-lifetime" }, ["Violates policy"]],
  [{ isDisabled: true, isBlocked: true }, ["Disabled"]],
])("describes %j as %j", (state, expected) => {
  expect(labels(state)).toEqual(expected);
});

test("recognizes status filters", () => {
  expect(isStatusFilter("expiring")).toBe(true);
  expect(isStatusFilter("toString")).toBe(false);
  expect(isStatusFilter("blocked")).toBe(false);
  expect(isWorkspaceStatusFilter("blocked")).toBe(true);
  expect(isWorkspaceStatusFilter("toString")).toBe(false);
});
