import { AppError } from "@latchkey/errors";
import fc from "fast-check";
import { expect, test } from "vitest";
import { requireUnambiguous, requireUnambiguousFields } from "./unambiguous-json.ts";

/** JSON with everything that the rules are about. A name occurs twice in many of the objects. */
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom(
      "0",
      "-1.5e3",
      "null",
      "true",
      '""',
      '":"',
      '"a:b::"',
      '"\\u003a"',
      '"\\ud800"',
      '"{,}"',
      '"__proto__"',
    ),
    fc.array(tie("value"), { maxLength: 3 }).map((elements) => `[${elements.join(",")}]`),
    fc
      .array(
        fc.tuple(
          fc.constantFrom("a", "b", "c", "1", "", ":", "a:b", "\\u0061", "\\udc00", "__proto__", "toString"),
          fc.constantFrom(":", ": ", " :\n"),
          tie("value"),
        ),
        { maxLength: 4 },
      )
      .map(
        (members) => `{${members.map(([name, colon, member]) => `"${name}"${colon}${member}`).join(", ")}}`,
      ),
  ),
}));
const nested = fc
  .tuple(value, fc.integer({ min: 0, max: 40 }), fc.constantFrom(["[", "]"], ['{"a":', "}"]))
  .map(([inner, depth, [open = "", close = ""]]) => open.repeat(depth) + inner + close.repeat(depth));

/** The error; undefined for none. */
function errorOf(check: () => void): unknown {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { message: error.message, issues: error.issues };
  }
}

test("the fast check accepts and rejects the same JSON as the check of each field", () => {
  const counts = { accepted: 0, rejected: 0 };
  fc.assert(
    fc.property(fc.oneof(value, nested), (text) => {
      const expected = errorOf(() => requireUnambiguousFields(text));
      expect(errorOf(() => requireUnambiguous(text, JSON.parse(text)))).toEqual(expected);
      counts[expected ? "rejected" : "accepted"] += 1;
    }),
    { numRuns: 5_000 },
  );
  expect(Math.min(counts.accepted, counts.rejected)).toBeGreaterThan(500);
});

test("both checks reject an object with more than 1,000 fields, without reading the rest", () => {
  const textOf = (count: number, end = "") =>
    `{"a":[{${Array.from({ length: count }, (_, index) => `"f${index}":1`).join()}${end}}]}`;
  for (const check of [
    requireUnambiguousFields,
    (text: string) => requireUnambiguous(text, JSON.parse(text)),
  ]) {
    expect(errorOf(() => check(textOf(1_000)))).toBeUndefined();
    const rejected = { message: "An object in the body has more than 1,000 fields", issues: undefined };
    expect(errorOf(() => check(textOf(1_001)))).toEqual(rejected);
    // The check ends before it reaches the duplicate field.
    expect(errorOf(() => check(textOf(11_000, ',"f0":1')))).toEqual(rejected);
  }
});
