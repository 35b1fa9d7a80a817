import { expect, test } from "vitest";
import { describeActor, describeEvent } from "./describe-event.ts";
import type { AuditEvent } from "./trpc.ts";

const ada = { kind: "session", userId: "user_1", name: "Ada", keyId: null } as const;
const command = { kind: "command", userId: null, name: null, keyId: null } as const;
const usual: AuditEvent = {
  id: "evt_1",
  occurredAt: "2026-03-15T12:00:00Z",
  action: "member.role-changed",
  actor: ada,
  target: { kind: "member", id: "user_2", name: "Grace" },
  before: { role: "member" },
  after: { role: "admin" },
  address: null,
  requestId: null,
};

function tell(event: Partial<AuditEvent>): string {
  const pieces = describeEvent({ ...usual, ...event });
  return pieces.map((piece) => (typeof piece === "string" ? piece : piece.name)).join("");
}

test("tells changes of members with their names", () => {
  expect(tell({})).toBe("changed Grace’s role from member to admin");
  expect(tell({ target: { kind: "member", id: "user_1", name: "Ada" } })).toBe(
    "changed their own role from member to admin",
  );
  expect(tell({ action: "member.added", actor: command, before: null })).toBe("added Grace as an admin");
  expect(tell({ action: "member.removed" })).toBe("removed Grace, who was a member");
  expect(tell({ action: "member.removed", target: { kind: "member", id: "user_1", name: "Ada" } })).toBe(
    "left the workspace; was a member",
  );
});

test("tells changes of the workspace with both names", () => {
  const target = { kind: "workspace", id: "ws_1", name: null } as const;
  expect(tell({ action: "workspace.created", target, before: null, after: { name: "Acme" } })).toBe(
    "created the workspace “Acme”",
  );
  expect(
    tell({ action: "workspace.renamed", target, before: { name: "Acme" }, after: { name: "Globex" } }),
  ).toBe("renamed the workspace from “Acme” to “Globex”");
  const described = { before: { description: "" }, after: { description: "Why" } };
  expect(tell({ action: "workspace.description-changed", target, ...described })).toBe(
    "changed the description of the workspace",
  );
});

test("names who made a change", () => {
  expect(describeActor(usual)).toBe("Ada");
  expect(describeActor({ ...usual, actor: command })).toBe("The operator’s command");
  expect(describeActor({ ...usual, actor: { ...ada, name: null } })).toBe("user_1");
});

test("describes changes of API keys", () => {
  const key = { kind: "key", id: "key_1", name: "CI" } as const;
  const of = (event: Partial<AuditEvent>) => tell({ target: key, before: null, after: null, ...event });
  expect(of({ action: "key.created", after: { name: "CI" } })).toBe(
    "created the API key “CI” without restrictions",
  );
  expect(
    of({ action: "key.created", after: { name: "CI", isReadOnly: true, limit: "100/60s", later: "?" } }),
  ).toBe("created the API key “CI”: read only; rate limit: 100 requests per minute");
  expect(of({ action: "key.renamed", before: { name: "CI" }, after: { name: "Deploys" } })).toBe(
    "renamed the API key “CI” to “Deploys”",
  );
  const reach = { workspaces: "selected", canReachWorkspace: false };
  expect(of({ action: "key.restricted", after: reach })).toBe(
    "restricted the API key “CI”: selected workspaces; can’t reach this workspace",
  );
  expect(of({ action: "key.expanded", after: { expiresAt: null, ipRanges: null } })).toBe(
    "expanded the access of the API key “CI”: any IP address; never expires",
  );
  expect(of({ action: "key.rotated", after: { overlapSeconds: 0 } })).toBe(
    "rotated the API key “CI”; the former secret was revoked",
  );
  expect(of({ action: "key.rotated", after: { overlapSeconds: 86_400 } })).toBe(
    "rotated the API key “CI”; the former secret stays valid for 1 day",
  );
  expect(of({ action: "key.disabled" })).toBe("disabled the API key “CI”");
  expect(of({ action: "key.former-secrets-revoked" })).toBe("revoked the former secrets of the API key “CI”");
  expect(of({ action: "key.deleted", target: { ...key, name: null }, before: { name: "CI" } })).toBe(
    "deleted the API key “CI”",
  );
  expect(of({ action: "key.enabled", target: { ...key, name: null } })).toBe(
    "enabled the API key “a deleted key”",
  );
});
