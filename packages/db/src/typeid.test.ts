import fc from "fast-check";
import { TypeID } from "typeid-js";
import { expect, test } from "vitest";
import { decodeSuffix, encodeSuffix } from "./typeid.ts";

test("encodes every UUID like typeid-js, and decodes it to the same UUID", () => {
  const uuid = fc.oneof(
    fc.uuid(),
    // Any 128 bits.
    fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((bits) =>
      bits
        .toString(16)
        .padStart(32, "0")
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    ),
    fc.constantFrom("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
  );
  fc.assert(
    fc.property(uuid, (id) => {
      const suffix = TypeID.fromUUID("key", id).getSuffix();
      expect(encodeSuffix(id)).toBe(suffix);
      expect(decodeSuffix(suffix)).toBe(id);
    }),
    { numRuns: 2_000 },
  );
});

test("neither encodes nor decodes a text of another length", () => {
  for (const text of ["", "0190", "0".repeat(37)]) {
    expect(() => encodeSuffix(text)).toThrow("not a UUID");
    expect(() => decodeSuffix(text)).toThrow("not the suffix");
  }
});
