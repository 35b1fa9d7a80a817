import { type IssueCode, issueCatalog } from "@latchkey/errors";
import { expect, test } from "vitest";
import { z } from "zod";
import { email, keyId, keyName, personName } from "./fields.ts";
import { customIssue, toIssues } from "./issues.ts";
import { invalidPeriod, isValidPeriod, keySettings, usagePeriod } from "./key-fields.ts";

const key = z.strictObject({ name: keyName, id: keyId.optional(), ...keySettings });
const period = z.strictObject(usagePeriod).refine(isValidPeriod, invalidPeriod);
const name = "CI";

const rows: readonly (readonly [string, z.ZodType, unknown, readonly (readonly [string, IssueCode])[]])[] = [
  ["a missing field", key, {}, [["name", "required"]]],
  [
    "a missing choice",
    period,
    { from: "2026-01-01T00:00:00Z", to: "2026-01-01T01:00:00Z" },
    [["bucket", "required"]],
  ],
  ["a missing field inside", key, { name, limit: { quota: 1 } }, [["limit.windowSeconds", "required"]]],
  ["no body", key, undefined, [["", "required"]]],
  ["null where a string is expected", key, { name: null }, [["name", "invalid_type"]]],
  ["a number where a string is expected", key, { name: 3 }, [["name", "invalid_type"]]],
  ["an array where an object is expected", key, [], [["", "invalid_type"]]],
  [
    "two unknown fields",
    key,
    { name, a: 1, b: 2 },
    [
      ["a", "unknown_member"],
      ["b", "unknown_member"],
    ],
  ],
  [
    "an unknown field inside",
    key,
    { name, limit: { quota: 1, windowSeconds: 1, c: 1 } },
    [["limit.c", "unknown_member"]],
  ],
  ["an empty name", key, { name: " " }, [["name", "too_short"]]],
  ["a name of joiners", key, { name: "\u200d" }, [["name", "too_short"]]],
  ["a long name", key, { name: "x".repeat(101) }, [["name", "too_long"]]],
  ["a name with a line break", key, { name: "a\nb" }, [["name", "invalid_characters"]]],
  ["an ID of another kind", key, { name, id: "ws_01h455vb4pex5vsknk084sn02q" }, [["id", "invalid_format"]]],
  ["no item", key, { name, ipRanges: [] }, [["ipRanges", "too_few"]]],
  ["101 items", key, { name, ipRanges: Array(101).fill("10.0.0.0/8") }, [["ipRanges", "too_many"]]],
  [
    "an item that is no range",
    key,
    { name, ipRanges: ["10.0.0.0/8", "x"] },
    [["ipRanges.1", "invalid_format"]],
  ],
  ["an unknown permission", key, { name, permissions: ["keys:eat"] }, [["permissions.0", "invalid_value"]]],
  [
    "a quota of nothing",
    key,
    { name, limit: { quota: 0, windowSeconds: 1 } },
    [["limit.quota", "too_small"]],
  ],
  [
    "a window of two days",
    key,
    { name, limit: { quota: 1, windowSeconds: 172_800 } },
    [["limit.windowSeconds", "too_large"]],
  ],
  [
    "half a request",
    key,
    { name, limit: { quota: 0.5, windowSeconds: 1 } },
    [["limit.quota", "invalid_type"]],
  ],
  ["a time in words", key, { name, expiresAt: "tomorrow" }, [["expiresAt", "invalid_format"]]],
  [
    "a period that ends before it starts",
    period,
    { from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z", bucket: "hour" },
    [["to", "invalid_range"]],
  ],
  [
    "an email address without a host",
    z.strictObject({ email }),
    { email: "ada" },
    [["email", "invalid_format"]],
  ],
  [
    "an email address with a letter that is ASCII in lower case only, the Kelvin sign",
    z.strictObject({ email }),
    { email: "mi\u212ae@example.com" },
    [["email", "invalid_format"]],
  ],
  ["a union that nothing fits", z.union([z.literal(1), z.literal(2)]), 3, [["", "invalid_value"]]],
  ["a check without a code", z.string().refine(() => false), "x", [["", "invalid_value"]]],
  [
    "a check with an unlisted code",
    z.string().refine(() => false, { params: { code: "toString" } }),
    "x",
    [["", "invalid_value"]],
  ],
  [
    "a check with a code, of a missing value",
    z.unknown().refine(() => false, customIssue("not_found", "")),
    undefined,
    [["", "not_found"]],
  ],
];

test.each(rows)("%s", (_what, schema, input, expected) => {
  const { error } = schema.safeParse(input);
  const issues = error ? toIssues(error, input) : [];
  expect(issues.map(({ path, code }) => [path, code])).toEqual(expected);
  for (const { message } of issues) expect(message).toEqual(expect.any(String));
});

test("the message of an issue is the schema's own", () => {
  const { error } = personName.safeParse("");
  expect(error && toIssues(error, "")).toEqual([
    { path: "", code: "too_short", message: "Enter your name." },
  ]);
});

test("every code is in snake case and has a description", () => {
  for (const [code, meaning] of Object.entries(issueCatalog)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(meaning).toMatch(/^[A-Z].+\.$/);
  }
});
