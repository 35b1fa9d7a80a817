import { expect, test } from "vitest";
import { viewKeysOf } from "./key-policy-view.ts";

const enabled = { disabledAt: null };
const disabled = { disabledAt: new Date() };

type Key = Parameters<ReturnType<typeof viewKeysOf>[number]["text"]>[0];

const accepted: Key = {
  id: "key_01h455vb4pex5vsknk084sn02q",
  name: "CI",
  start: "lk_4fTq0a",
  owner: {
    id: "usr_01h455vb4pex5vsknk084sn02q",
    name: "Ada",
    kind: "person",
    email: "ada@example.com",
    role: "member",
    isDisabled: false,
  },
  createdAt: "2026-01-01T00:00:00.000Z",
  expiresAt: "9999-01-01T00:00:00.000Z",
  isDisabled: false,
  isBlocked: false,
  blockedAt: null,
  blockedByName: null,
  blockedByKind: null,
  violation: null,
  hasSelectedWorkspaces: false,
  permissions: null,
  isReadOnly: false,
  ipRanges: null,
  limit: null,
  isRotating: false,
  isRateLimited: false,
  recentUses: 0,
  lastUsedAt: null,
};

const statusOf = (key: Key, workspace: Parameters<typeof viewKeysOf>[0]) =>
  viewKeysOf(workspace)
    .find(({ label }) => label === "Status")
    ?.text(key);

test.each<[string, Partial<Key>]>([
  ["disabled", { isDisabled: true, expiresAt: "2026-01-02T00:00:00.000Z" }],
  ["owner disabled", { owner: { ...accepted.owner, isDisabled: true } }],
  ["expired", { expiresAt: "2026-01-02T00:00:00.000Z", isBlocked: true }],
  ["blocked", { isBlocked: true, violation: "idle" }],
  ["idle", { violation: "idle" }],
])("the status of a key that a workspace rejects is the reason: %s", (status, rejected) => {
  for (const workspace of [enabled, disabled])
    expect(statusOf({ ...accepted, ...rejected }, workspace)).toBe(status);
});

test("a key is accepted unless the workspace is disabled", () => {
  expect(statusOf(accepted, enabled)).toBe("accepted");
  expect(statusOf({ ...accepted, expiresAt: null }, enabled)).toBe("accepted");
  expect(statusOf(accepted, disabled)).toBe("workspace disabled");
});
