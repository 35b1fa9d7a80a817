import { createApiKey } from "@latchkey/auth/key-format";
import { createId, encodeId } from "@latchkey/db/ids";
import { maxLength, verificationLimits } from "@latchkey/limits";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { readVerification, readVerifications } from "./read-verification.ts";
import { toVerification, verificationRequest } from "./verification-fields.ts";

const { maxCost, maxQueryLength, maxKeyLength, maxPresentedLength, maxTags, maxTagLength, maxVerifications } =
  verificationLimits;

/** A text of this length and texts that are one character shorter and longer. */
const around = (length: number) => [length - 1, length, length + 1].map((count) => "a".repeat(count));
const odd = fc.constantFrom<unknown>(null, true, 0, 1.5, "", " ", [], {}, ["a"], "\u0000");
const tag = fc.constantFrom("region:eu", "a.b_c-1", "a", "A", "", "a\n", "é", ...around(maxTagLength));
const field = {
  key: fc.constantFrom(
    createApiKey().secret,
    "acme_1",
    "ключ",
    "two lines\n",
    "\u0085",
    " ",
    "",
    "\ud800",
    ...around(maxKeyLength),
    ...around(maxPresentedLength),
  ),
  keyspaceId: fc.constantFrom(
    encodeId("keyspace", createId("keyspace")),
    "ks_1",
    encodeId("key", createId("key")),
  ),
  workspaceId: fc.constantFrom(encodeId("workspace", createId("workspace")), "ws_1", "WS_1"),
  permissions: fc.constantFrom(
    "a.b",
    "a AND (b OR c:d)",
    "(a",
    "a b",
    "",
    " a",
    "A.b:c",
    "AND",
    "a::b",
    ...around(maxLength.issuedPermission),
    // Valid queries of about the maximum length.
    ...around(maxQueryLength).map((text) => `a${text.slice(1).replaceAll("a", " ")}`),
  ),
  cost: fc.constantFrom(0, -0, 1, -1, maxCost, maxCost + 1, 0.5, "1"),
  limits: fc.constantFrom([], [{ name: "exports" }]),
  clientIp: fc.constantFrom(
    "192.0.2.7",
    "::ffff:192.0.2.7",
    "2001:db8::1",
    "fe80::1%eth0",
    "192.0.2",
    ...around(maxLength.ipAddress),
  ),
  tags: fc.oneof(fc.array(tag, { maxLength: 3 }), fc.constantFrom(...[maxTags, maxTags + 1].map(listTags))),
  role: fc.constant("owner"),
};

function listTags(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `t${index}`);
}

const names = Object.keys(field) as (keyof typeof field)[];
/** Objects with any fields, most of which are valid. */
const request = fc
  .uniqueArray(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...names.filter((name) => name !== "role")) },
      { weight: 1, arbitrary: fc.constantFrom(...names) },
    ),
    { maxLength: 5 },
  )
  .chain((chosen) =>
    fc.record({
      key: fc.constant("acme_1"),
      ...Object.fromEntries(
        chosen.map((name) => [
          name,
          fc.oneof(
            { weight: 12, arbitrary: field[name] as fc.Arbitrary<unknown> },
            { weight: 1, arbitrary: odd },
          ),
        ]),
      ),
    }),
  );
const value = fc.oneof({ weight: 20, arbitrary: request }, { weight: 1, arbitrary: odd });

test("reads a verification exactly as the schema does, or leaves it to the schema", () => {
  let readCount = 0;
  fc.assert(
    fc.property(value, (input) => {
      const { data } = verificationRequest.safeParse(input);
      const read = readVerification(input);
      if (read) readCount += 1;
      if (read) expect(read).toEqual(data && toVerification(data));
      // The others have limits, or are invalid.
      else expect(data === undefined || Object.hasOwn(input as object, "limits")).toBe(true);
    }),
    { numRuns: 10_000 },
  );
  expect(readCount).toBeGreaterThan(1_000);
});

test("reads lists of verifications exactly as the schema does, or leaves them to the schema", () => {
  const schema = z.strictObject({ verifications: z.array(verificationRequest).min(1).max(maxVerifications) });
  const key = { key: "acme_1" };
  const many = (length: number) => Array.from({ length }, () => key);
  const bodies = [
    ...[1, 2, maxVerifications].map((length) => ({ verifications: many(length) })),
    { verifications: [key, { ...key, limits: [] }] },
  ];
  for (const body of bodies) {
    const expected = schema.parse(body).verifications.map(toVerification);
    // Limits are left to the schema.
    expect(readVerifications(body)).toEqual(body === bodies.at(-1) ? undefined : expected);
  }
  const invalid = [
    {},
    { verifications: [] },
    { verifications: many(maxVerifications + 1) },
    { verifications: [key, {}] },
    { verifications: { 0: key, length: 1 } },
    { verifications: [key], key: "acme_1" },
    { key: "acme_1", verifications: [key] },
  ];
  for (const body of invalid) {
    expect(schema.safeParse(body).success).toBe(false);
    expect(readVerifications(body)).toBeUndefined();
  }
});
