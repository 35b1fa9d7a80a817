import { expect, test } from "vitest";
import type { IssuedKeyChange } from "../../server/trpc.ts";
import { describeKeyChange } from "./describe-key-change.ts";

type Values = Pick<IssuedKeyChange, "action"> & Partial<Pick<IssuedKeyChange, "before" | "after">>;

function describe(values: Values): string {
  const event: IssuedKeyChange = {
    id: "evt_1",
    occurredAt: "2026-03-02T12:00:00Z",
    actor: { kind: "command", name: null, userKind: null },
    before: null,
    after: null,
    ...values,
  };
  return describeKeyChange(event)
    .map((piece) => (typeof piece === "string" ? piece : piece.name))
    .join("");
}

test.each<[Values, string]>([
  [{ action: "issued-key.created", after: { credits: null } }, "issued the key"],
  [
    { action: "issued-key.created", after: { credits: "1000, refilled to 25000 monthly on day 31" } },
    "issued the key with credits: 1,000, refilled to 25,000 monthly on day 31",
  ],
  [{ action: "issued-key.created", after: { credits: null, isDisabled: false } }, "issued the key"],
  [{ action: "issued-key.created", after: { credits: null, isDisabled: true } }, "issued the disabled key"],
  [
    { action: "issued-key.created", after: { credits: "5", isDisabled: true } },
    "issued the disabled key with credits: 5",
  ],
  [
    { action: "issued-key.credits-changed", before: { credits: 1_000 }, after: { credits: 1_005, added: 5 } },
    "added 5 credits, from 1,000 to 1,005",
  ],
  [
    { action: "issued-key.credits-changed", before: { credits: 1 }, after: { credits: 0, subtracted: 1 } },
    "subtracted 1 credit, from 1 to 0",
  ],
  [
    { action: "issued-key.credits-changed", before: { credits: 3 }, after: { credits: 0 } },
    "set the balance from 3 to 0",
  ],
  [
    { action: "issued-key.credits-changed", before: { credits: null }, after: { credits: 7 } },
    "set the balance to 7",
  ],
  [
    {
      action: "issued-key.changed",
      before: { name: "", permissions: "documents.read", ipRanges: null, credits: "5" },
      after: {
        name: "Acme",
        start: "sk_live_",
        permissions: null,
        ipRanges: "10.0.0.0/8",
        credits: "7",
        isMetaChanged: true,
      },
    },
    "changed the name from none to “Acme”; the permissions from “documents.read” to none; the IP ranges from any IP address to “10.0.0.0/8”; the credits from 5 to 7; the metadata",
  ],
  [{ action: "issued-key.changed", before: {}, after: { isMetaChanged: true } }, "changed the metadata"],
  [
    { action: "issued-key.rotated", after: { overlapSeconds: 0 } },
    "rotated the key; the old secret was revoked",
  ],
  [{ action: "issued-key.former-secrets-revoked", after: { name: "Acme" } }, "revoked the old secrets"],
])("describes %j", (values, sentence) => {
  expect(describe(values)).toBe(sentence);
});
