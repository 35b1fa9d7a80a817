import { expect, test } from "vitest";
import { newIssuedKeyFields } from "./issued-key-fields.ts";

test.each([{ plan: "\0" }, { "\0": 1 }, { plan: ["\ud800"] }, { "\udc00": 1 }, { a: [[[[[1]]]]] }])(
  "rejects metadata that can't be stored: %j",
  (meta) => {
    expect(newIssuedKeyFields.meta.safeParse(meta).success).toBe(false);
  },
);

test("accepts metadata with any character", () => {
  const meta = { "🔑": ["漢", { plan: "\u202e\n" }] };
  expect(newIssuedKeyFields.meta.parse(meta)).toEqual(meta);
});
