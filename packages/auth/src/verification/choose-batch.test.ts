import { expect, test } from "vitest";
import { chooseBatch } from "./choose-batch.ts";
import { verificationOf } from "./verifier.test-kit.ts";

const requestOf = (count: number) => ({
  verifications: Array.from({ length: count }, () => verificationOf({ secret: "key" })),
});

test("a batch has at most 500 verifications, in the order of the requests, and at least one request", () => {
  const [large, small, huge] = [requestOf(200), requestOf(1), requestOf(600)];
  expect(chooseBatch([large, large, large, small])).toEqual({
    chosen: [large, large],
    deferred: [large, small],
  });
  expect(chooseBatch([huge, small])).toEqual({ chosen: [huge], deferred: [small] });
  expect(chooseBatch([large, small])).toEqual({ chosen: [large, small], deferred: [] });
});
