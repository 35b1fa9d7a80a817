import { expect, test } from "vitest";
import { newIssuedKeyFields } from "./issued-key-fields.ts";

test.each([{ plan: "\0" }, { "\0": 1 }, { plan: ["\ud800"] }, { "\udc00": 1 }, { a: [[[[[1]]]]] }])(
  "rejects metadata that can't be stored: %j",
  (meta) => {
    expect(newIssuedKeyFields.meta.safeParse(meta).success).toBe(false);
  },
);

test.each([["9007199254740993"], ["-9007199254740992"], ["1e308"], ["1e400"], ["5e-324"], ["-1e-16"]])(
  "rejects the number %s in metadata, which would be stored as another one or in hundreds of digits",
  (number) => {
    const meta: unknown = JSON.parse(`{"orders":[{"id":${number}}]}`);
    expect(newIssuedKeyFields.meta.safeParse(meta).error?.issues).toEqual([
      expect.objectContaining({
        message: "Write numbers beyond ±9007199254740991, and numbers closer to 0 than 1e-15, as text.",
      }),
    ]);
  },
);

test("accepts numbers in metadata that are stored exactly", () => {
  const meta = { numbers: [9007199254740991, -9007199254740991, 0, -1e-15, 0.1] };
  expect(newIssuedKeyFields.meta.parse(meta)).toEqual(meta);
});

test("accepts metadata with any character", () => {
  const meta = { "🔑": ["漢", { plan: "\u202e\n" }] };
  expect(newIssuedKeyFields.meta.parse(meta)).toEqual(meta);
});
