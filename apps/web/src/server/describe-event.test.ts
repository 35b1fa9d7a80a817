import { expect, test } from "vitest";
import { describeActor } from "./describe-actor.ts";
import { describeEvent } from "./describe-event.ts";
import { describeKeyEvent } from "./describe-key-event.ts";
import type { AuditEvent } from "./trpc.ts";

const ada = { kind: "session", userId: "user_1", name: "Ada", userKind: "person", keyId: null } as const;
const command = { kind: "command", userId: null, name: null, userKind: null, keyId: null } as const;
const baseEvent: AuditEvent = {
  id: "evt_1",
  occurredAt: "2026-03-15T12:00:00Z",
  action: "member.role-changed",
  actor: ada,
  target: { kind: "member", id: "user_2", name: "Grace", userKind: "person", owner: null },
  before: { role: "member" },
  after: { role: "admin" },
  address: null,
  requestId: null,
};

function sentence(event: Partial<AuditEvent>): string {
  const pieces = describeEvent({ ...baseEvent, ...event });
  return pieces.map((piece) => (typeof piece === "string" ? piece : piece.name)).join("");
}

test("describes changes to service accounts by name", () => {
  const target = {
    kind: "member",
    id: "user_3",
    name: "Deploys",
    userKind: "service_account",
    owner: null,
  } as const;
  const event = { target, before: null, after: null };
  const after = { name: "Deploys", role: "admin" };
  expect(sentence({ ...event, action: "service-account.created", after })).toBe(
    "created the service account “Deploys” as an admin",
  );
  const renaming = { before: { name: "CI" }, after: { name: "Deploys" } };
  expect(sentence({ ...event, action: "service-account.renamed", ...renaming })).toBe(
    "renamed the service account “CI” to “Deploys”",
  );
  expect(sentence({ ...event, action: "service-account.disabled" })).toBe(
    "disabled the service account Deploys",
  );
  const roles = { before: { role: "member" }, after: { role: "admin" } };
  expect(sentence({ ...event, action: "member.role-changed", ...roles })).toBe(
    "changed the role of the service account Deploys from member to admin",
  );
  expect(sentence({ ...event, action: "service-account.enabled" })).toBe(
    "enabled the service account Deploys",
  );
  const before = { name: "Deploys", role: "admin", keys: 2 };
  expect(sentence({ ...event, action: "service-account.deleted", before })).toBe(
    "deleted the service account “Deploys” with 2 API keys",
  );
});

test("says why the secret of a webhook was replaced without a rotation", () => {
  const target = { kind: "webhook", id: "whk_1", name: null, userKind: null, owner: null } as const;
  expect(sentence({ target, action: "webhook.secret-reissued", before: null, after: null })).toBe(
    "replaced the secret of a webhook, because the request that issued it was repeated",
  );
});

test("describes why a webhook was disabled", () => {
  const target = { kind: "webhook", id: "whk_1", name: null, userKind: null, owner: null } as const;
  const event = { target, action: "webhook.disabled", before: null } as const;
  const host = "hooks.example.com";
  expect(sentence({ ...event, after: null })).toBe("disabled a webhook");
  expect(sentence({ ...event, after: { reason: "failures", host } })).toBe(
    "disabled the webhook to hooks.example.com, because no message was delivered for three days",
  );
  expect(sentence({ ...event, after: { reason: "gone", host } })).toBe(
    "disabled the webhook to hooks.example.com, because its server responded with 410 Gone",
  );
});

test("describes changes to keyspaces by name", () => {
  const target = { kind: "keyspace", id: "ks_1", name: null, userKind: null, owner: null } as const;
  const event = { target, before: null, after: { name: "Production" } } as const;
  expect(sentence({ ...event, action: "keyspace.created" })).toBe("created the keyspace “Production”");
  expect(sentence({ ...event, action: "keyspace.changed" })).toBe("changed the keyspace “Production”");
  expect(sentence({ ...event, action: "keyspace.disabled" })).toBe("disabled the keyspace “Production”");
  expect(sentence({ ...event, action: "keyspace.enabled" })).toBe("enabled the keyspace “Production”");
  const deleted = { target, action: "keyspace.deleted", after: null } as const;
  expect(sentence({ ...deleted, before: { name: "Production", keys: 0 } })).toBe(
    "deleted the keyspace “Production”",
  );
  expect(sentence({ ...deleted, before: { name: "Production", keys: 1_200 } })).toBe(
    "deleted the keyspace “Production” with 1,200 keys",
  );
});

test("describes changes to consumers by their external ID", () => {
  const target = { kind: "consumer", id: "csm_1", name: null, userKind: null, owner: null } as const;
  const event = {
    target,
    before: { limits: null },
    after: { externalId: "customer_42", limits: null },
  } as const;
  expect(sentence({ ...event, action: "consumer.changed" })).toBe(
    "changed the limits of the consumer “customer_42”",
  );
});

test("describes changes to issued keys by name, or by their first characters", () => {
  const target = { kind: "issued-key", id: "ikey_1", name: null, userKind: null, owner: null } as const;
  const after = { name: "Acme", start: "sk_live_abcdef" };
  const event = { target, before: null, after } as const;
  expect(sentence({ ...event, action: "issued-key.created" })).toBe("issued the key “Acme”");
  const disabled = { ...event, after: { ...after, isDisabled: true } };
  expect(sentence({ ...disabled, action: "issued-key.created" })).toBe("issued the disabled key “Acme”");
  const nameless = { ...event, after: { ...after, name: "" } };
  expect(sentence({ ...nameless, action: "issued-key.changed" })).toBe(
    "changed the issued key “sk_live_abcdef”",
  );
  expect(sentence({ ...event, action: "issued-key.disabled" })).toBe("disabled the issued key “Acme”");
  expect(sentence({ ...event, action: "issued-key.enabled" })).toBe("enabled the issued key “Acme”");
  expect(sentence({ ...event, action: "issued-key.rotated", after: { ...after, overlapSeconds: 0 } })).toBe(
    "rotated the issued key “Acme”; the old secret was revoked",
  );
  expect(sentence({ ...event, action: "issued-key.secret-reissued" })).toBe(
    "replaced the unused secret of the issued key “Acme”",
  );
  expect(sentence({ ...event, action: "issued-key.former-secrets-revoked" })).toBe(
    "revoked the old secrets of the issued key “Acme”",
  );
  const balance = {
    ...event,
    action: "issued-key.credits-changed",
    after: { ...after, credits: 1_500 },
  } as const;
  expect(sentence({ ...balance, before: { credits: 500 } })).toBe(
    "changed the credits of the issued key “Acme” from 500 to 1,500",
  );
  expect(sentence({ ...balance, before: { credits: null } })).toBe(
    "changed the credits of the issued key “Acme” to 1,500",
  );
  expect(sentence({ target, action: "issued-key.deleted", before: after, after: null })).toBe(
    "deleted the issued key “Acme”",
  );
});

test("describes changes to members by name", () => {
  expect(sentence({})).toBe("changed Grace’s role from member to admin");
  expect(
    sentence({ target: { kind: "member", id: "user_1", name: "Ada", userKind: "person", owner: null } }),
  ).toBe("changed their own role from member to admin");
  expect(sentence({ action: "member.added", actor: command, before: null })).toBe("added Grace as an admin");
  expect(sentence({ action: "member.joined", after: { role: "viewer", invitedBy: "Ada" } })).toBe(
    "joined as a viewer, invited by Ada",
  );
  expect(sentence({ action: "member.joined", after: { role: "viewer", invitedBy: null } })).toBe(
    "joined as a viewer",
  );
  const invited = { email: "grace@example.com", role: "admin" };
  expect(sentence({ action: "invitation.created", after: invited })).toBe(
    "invited grace@example.com as an admin",
  );
  expect(sentence({ action: "invitation.resent", after: invited })).toBe(
    "resent the invitation for grace@example.com",
  );
  expect(sentence({ action: "invitation.revoked", before: invited })).toBe(
    "revoked the invitation for grace@example.com",
  );
  expect(sentence({ action: "member.removed" })).toBe("removed Grace, who was a member");
  expect(
    sentence({
      action: "member.removed",
      target: { kind: "member", id: "user_1", name: "Ada", userKind: "person", owner: null },
    }),
  ).toBe("left the workspace; was a member");
});

test("describes changes to the workspace with both names", () => {
  const target = { kind: "workspace", id: "ws_1", name: null, userKind: null, owner: null } as const;
  expect(sentence({ action: "workspace.created", target, before: null, after: { name: "Acme" } })).toBe(
    "created the workspace “Acme”",
  );
  expect(
    sentence({ action: "workspace.renamed", target, before: { name: "Acme" }, after: { name: "Globex" } }),
  ).toBe("renamed the workspace from “Acme” to “Globex”");
  const retention = "workspace.audit-retention-changed";
  const details = { before: { auditRetentionDays: null }, after: { auditRetentionDays: 90 } };
  expect(sentence({ action: retention, target, ...details })).toBe(
    "changed the audit log retention from forever to 90 days",
  );
  const requirement = "workspace.second-factor-requirement-changed";
  expect(sentence({ action: requirement, target, after: { requiresSecondFactor: true } })).toBe(
    "required a second factor from all members",
  );
  expect(sentence({ action: requirement, target, after: { requiresSecondFactor: false } })).toBe(
    "stopped requiring a second factor from members",
  );
  const change = { before: { description: "" }, after: { description: "Why" } };
  expect(sentence({ action: "workspace.description-changed", target, ...change })).toBe(
    "changed the description of the workspace",
  );
});

test("describes changes to the policy, and blocks of keys", () => {
  const target = { kind: "workspace", id: "ws_1", name: null, userKind: null, owner: null } as const;
  const policy = (after: AuditEvent["after"]) =>
    sentence({ action: "api-key-policy.changed", target, before: null, after });
  expect(
    policy({ maxLifetimeDays: 90, isExpiryRequired: true, areIpRangesRequired: true, maxIdleDays: 30 }),
  ).toBe(
    "changed the API key policy: keys must expire within 90 days; expiry required; IP ranges required; keys are rejected after 30 days without use",
  );
  expect(policy({ maxLifetimeDays: 1, maxIdleDays: 1 })).toBe(
    "changed the API key policy: keys must expire within 1 day; keys are rejected after 1 day without use",
  );
  expect(
    policy({ maxLifetimeDays: null, isExpiryRequired: false, areIpRangesRequired: false, maxIdleDays: null }),
  ).toBe(
    "changed the API key policy: no maximum lifetime; expiry not required; no IP ranges required; no maximum idle time",
  );
  const key = {
    target: { kind: "key", id: "key_1", name: "CI", userKind: null, owner: null },
    after: null,
  } as const;
  expect(sentence({ action: "key.blocked", ...key, before: null })).toBe(
    "blocked the API key “CI” from the workspace",
  );
  expect(sentence({ action: "key.unblocked", ...key, before: { isBlocked: true } })).toBe(
    "unblocked the API key “CI”",
  );
  expect(sentence({ action: "key.unblocked", ...key, before: { isIdle: true } })).toBe(
    "unblocked the idle API key “CI”",
  );
});

test("describes the workspaces of a key by name if their names are known", () => {
  const after = { name: "CI", workspaceIds: "ws_1, ws_2" };
  const workspaceNames = new Map([["ws_1", "Acme"]]);
  const event = { action: "key.restricted", name: null, before: null, after } as const;
  expect(describeKeyEvent({ ...event, workspaceNames }).at(-1)).toBe(": workspaces: “Acme”, ws_2");
  expect(describeKeyEvent(event).at(-1)).toBe(": workspaces: ws_1, ws_2");
});

test("describes the actor of a change", () => {
  const actorOf = (actor: AuditEvent["actor"]) => describeActor({ ...baseEvent, actor });
  expect(actorOf(ada)).toEqual({ name: "Ada", kind: "person" });
  expect(actorOf({ ...ada, kind: "key", userKind: "service_account" })).toMatchObject({
    kind: "service_account",
  });
  expect(actorOf(command)).toEqual({ name: "The latchkey command", kind: null });
  expect(actorOf({ ...command, kind: "system" })).toEqual({ name: "Latchkey", kind: null });
  expect(actorOf({ ...ada, name: null })).toEqual({ name: "user_1", kind: "person" });
});

test("describes changes to API keys", () => {
  const key = { kind: "key", id: "key_1", name: "CI", userKind: null, owner: null } as const;
  const keyText = (event: Partial<AuditEvent>) =>
    sentence({ target: key, before: null, after: null, ...event });
  expect(keyText({ action: "key.created", after: { name: "CI" } })).toBe(
    "created the API key “CI” without restrictions",
  );
  expect(
    keyText({ action: "key.created", after: { name: "CI", isReadOnly: true, limit: "100/60s", later: "?" } }),
  ).toBe("created the API key “CI”: read only; rate limit: 100 requests per minute");
  expect(keyText({ action: "key.renamed", before: { name: "CI" }, after: { name: "Deploys" } })).toBe(
    "renamed the API key “CI” to “Deploys”",
  );
  const settings = { workspaces: "selected", canReachWorkspace: false };
  expect(keyText({ action: "key.restricted", after: settings })).toBe(
    "restricted the API key “CI”: selected workspaces; can’t reach this workspace",
  );
  expect(keyText({ action: "key.expanded", after: { expiresAt: null, ipRanges: null } })).toBe(
    "expanded the access of the API key “CI”: any IP address; never expires",
  );
  expect(keyText({ action: "key.rotated", after: { overlapSeconds: 0 } })).toBe(
    "rotated the API key “CI”; the old secret was revoked",
  );
  expect(keyText({ action: "key.rotated", after: { overlapSeconds: 86_400 } })).toBe(
    "rotated the API key “CI”; the old secret stays valid for 1 day",
  );
  expect(keyText({ action: "key.disabled" })).toBe("disabled the API key “CI”");
  expect(keyText({ action: "key.former-secrets-revoked" })).toBe(
    "revoked the old secrets of the API key “CI”",
  );
  expect(keyText({ action: "key.deleted", target: { ...key, name: null }, before: { name: "CI" } })).toBe(
    "deleted the API key “CI”",
  );
  expect(keyText({ action: "key.enabled", target: { ...key, name: null } })).toBe(
    "enabled the API key “a deleted key”",
  );
});

test("names the owner of a key that someone else changed", () => {
  const owner = { id: "user_2", name: "Grace", kind: "person" } as const;
  const target = { kind: "key", id: "key_1", name: "CI", userKind: null, owner } as const;
  const keyText = (event: Partial<AuditEvent>) => sentence({ target, before: null, after: null, ...event });
  expect(keyText({ action: "key.blocked" })).toBe("blocked Grace’s API key “CI” from the workspace");
  expect(keyText({ action: "key.unblocked", before: { isIdle: true } })).toBe(
    "unblocked Grace’s idle API key “CI”",
  );
  expect(keyText({ action: "key.renamed", before: { name: "CI" }, after: { name: "Deploys" } })).toBe(
    "renamed Grace’s API key “CI” to “Deploys”",
  );
  expect(keyText({ action: "key.expanded", after: { ipRanges: null } })).toBe(
    "expanded the access of Grace’s API key “CI”: any IP address",
  );
  expect(keyText({ action: "key.deleted", actor: command })).toBe("deleted Grace’s API key “CI”");
  const own = { ...target, owner: { ...owner, id: ada.userId } };
  expect(keyText({ action: "key.deleted", target: own })).toBe("deleted the API key “CI”");
  // A node of a previous version sends no owner.
  const { owner: _owner, ...earlier } = target;
  expect(keyText({ action: "key.deleted", target: earlier as AuditEvent["target"] })).toBe(
    "deleted the API key “CI”",
  );
});
