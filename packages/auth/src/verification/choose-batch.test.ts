import { expect, test } from "vitest";
import { chooseBatch } from "./choose-batch.ts";
import { verificationOf } from "./verifier.test-kit.ts";

const verifications = (count: number) =>
  Array.from({ length: count }, () => verificationOf({ secret: "key" }));
const named = (key: string, path = "/open/keys/verify") => ({
  name: { method: "POST", path, key, bodyHash: Buffer.alloc(32) },
  verifications: verifications(1),
});

test("a batch has each name once", () => {
  const [first, second, other] = [named("a"), named("a"), named("a", "/open/keys/verify-batch")];
  const unnamed = { name: undefined, verifications: verifications(1) };
  expect(chooseBatch([first, second, unnamed, other, unnamed])).toEqual({
    pending: [first, unnamed, other, unnamed],
    deferred: [second],
  });
});

test("a batch has at most 5,000 verifications, and at least one request", () => {
  const large = { name: undefined, verifications: verifications(2_000) };
  expect(chooseBatch([large, large, large, large])).toEqual({
    pending: [large, large],
    deferred: [large, large],
  });
  const huge = { name: undefined, verifications: verifications(6_000) };
  expect(chooseBatch([huge, large])).toEqual({ pending: [huge], deferred: [large] });
});
