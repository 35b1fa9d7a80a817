import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { permissions, roleHolds, roles } from "../permissions.ts";
import { judge, type KeyFacts } from "./judge.ts";

const ours = "w" as WorkspaceId;
const good: KeyFacts = {
  keyId: "k" as KeyId,
  userId: "u" as UserId,
  version: 1,
  isDeleted: false,
  isUserDisabled: false,
  roles: new Map(),
};
const allowed = { kind: "allowed" };
const refused = (reason: string) => ({ kind: "refused", reason });

test.each([
  ["a live key of a live user", {}, allowed],
  ["a deleted key", { isDeleted: true }, refused("deleted")],
  ["a disabled user's key", { isUserDisabled: true }, refused("user-disabled")],
  ["a disabled user's deleted key", { isDeleted: true, isUserDisabled: true }, refused("deleted")],
] as const)("judges %s", (_what, change, judgement) => {
  expect(judge({ ...good, ...change })).toEqual(judgement);
});

test.each(roles.flatMap((role) => permissions.map((permission) => [role, permission] as const)))(
  "judges what %s may do by the table: %s",
  (role, permission) => {
    const facts = { ...good, roles: new Map([[ours, role]]) };
    const demand = { workspaceId: ours, permission };
    expect(judge(facts, demand)).toEqual(roleHolds(role, permission) ? allowed : refused("no-permission"));
    expect(judge({ ...facts, isDeleted: true }, demand)).toEqual(refused("deleted"));
    expect(judge({ ...facts, isUserDisabled: true }, demand)).toEqual(refused("user-disabled"));
    expect(judge(facts, { ...demand, workspaceId: "x" as WorkspaceId })).toEqual(refused("no-member"));
  },
);
