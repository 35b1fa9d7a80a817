import type { VerificationResult } from "@latchkey/auth/verification";
import { createId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import { formatVerification, presentVerification, verificationResult } from "./verification.ts";

type FoundResult = Exclude<VerificationResult, { readonly code: "NOT_FOUND" }>;

const issued: FoundResult = {
  code: "VALID",
  key: {
    keyId: createId("issuedKey"),
    keyspaceId: createId("keyspace"),
    workspaceId: createId("workspace"),
    consumerId: createId("consumer"),
    externalId: "customer_42",
    name: 'A "name" with ✓',
    meta: { plan: "pro", nested: { list: [1, null, "}"] } },
    permissions: ["documents.read", "documents.*"],
    expiresAt: new Date("2027-03-01T09:30:00.000Z"),
  },
  limits: [],
  remainingCredits: null,
  isUse: true,
  apiKeyUse: undefined,
};
const apiKey = {
  ...issued.key,
  keyId: createId("key"),
  keyspaceId: null,
  consumerId: null,
  externalId: null,
  name: null,
  meta: null,
  permissions: [],
  expiresAt: null,
};
const limit = { name: "requests", quota: 100, remaining: 99, resetsInSeconds: 60, isExceeded: false };

describe("a formatted result is the presented one as JSON", () => {
  test.each<[string, VerificationResult]>([
    ["of a valid key", issued],
    ["of an API key", { ...issued, key: apiKey }],
    ["of an invalid key", { ...issued, code: "EXPIRED", isUse: false }],
    ["of a key with credits", { ...issued, remainingCredits: 0 }],
    ["of a key with limits", { ...issued, limits: [limit, { ...limit, name: "exports", isExceeded: true }] }],
    ["of a key that was not found", { code: "NOT_FOUND" }],
  ])("%s", (_case, result) => {
    const presented = presentVerification(result);
    expect(formatVerification(result)).toBe(JSON.stringify(presented));
    // Only declared fields, in the order of the schema.
    expect(formatVerification(result)).toBe(JSON.stringify(verificationResult.parse(presented)));
  });

  test("has the current limits and credits, although the fields of the key were formatted earlier", () => {
    const formatted = [99, 98].map((remaining) =>
      JSON.parse(
        formatVerification({ ...issued, limits: [{ ...limit, remaining }], remainingCredits: remaining }),
      ),
    );
    expect(formatted.map(({ limits, credits }) => [limits[0].remaining, credits.remaining])).toEqual([
      [99, 99],
      [98, 98],
    ]);
  });
});
