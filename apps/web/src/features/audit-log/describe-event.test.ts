import { expect, test } from "vitest";
import type { AuditEvent } from "../../server/trpc.ts";
import { describeActor, describeEvent } from "./describe-event.ts";

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
