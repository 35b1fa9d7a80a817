import fc from "fast-check";
import type { RefillModel } from "./model.ts";

/** Keys are numbers modulo their count, and secrets count from the current one. */
export type Step =
  | {
      readonly kind: "verify";
      readonly key: number;
      readonly secret: number;
      readonly node: number;
      readonly cost: number;
      readonly isPermitted: boolean;
      readonly limit: { readonly name: string; readonly cost: number | undefined } | undefined;
    }
  /** The same request several times at the same time, on both nodes. */
  | { readonly kind: "burst"; readonly key: number; readonly cost: number; readonly count: number }
  | { readonly kind: "disable"; readonly key: number; readonly node: number; readonly isDisabled: boolean }
  | { readonly kind: "expire"; readonly key: number; readonly node: number; readonly expires: boolean }
  | {
      readonly kind: "limits";
      readonly key: number;
      readonly node: number;
      readonly requests: number | undefined;
      readonly exports: number | undefined;
    }
  | {
      readonly kind: "credits";
      readonly key: number;
      readonly node: number;
      readonly remaining: number | null;
      readonly refill: RefillModel | null;
    }
  | { readonly kind: "rotate"; readonly key: number; readonly node: number; readonly overlaps: boolean }
  | { readonly kind: "delete"; readonly key: number; readonly node: number }
  | { readonly kind: "keyspace"; readonly node: number; readonly isDisabled: boolean }
  | { readonly kind: "consumer"; readonly quota: number | undefined }
  | { readonly kind: "clock"; readonly minutes: number };

const key = fc.nat({ max: 2 });
const node = fc.nat({ max: 1 });
const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const quota = fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined });
const refill = fc.constantFrom<(RefillModel | null)[]>(
  null,
  { amount: 6, interval: "daily", day: null },
  { amount: 6, interval: "daily", day: null },
  { amount: 9, interval: "monthly", day: 31 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      kind: kind("verify"),
      key,
      secret: fc.constantFrom(0, 0, 0, 1, 2),
      node,
      cost: fc.constantFrom(0, 1, 1, 1, 2, 3),
      isPermitted: fc.constantFrom(true, true, true, true, true, false),
      limit: fc.option(
        fc.record({
          name: fc.constantFrom("exports", "exports", "exports", "shared", "unknown"),
          cost: fc.constantFrom(undefined, 0, 1, 2),
        }),
        { nil: undefined, freq: 2 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: kind("burst"),
      key,
      cost: fc.integer({ min: 1, max: 2 }),
      count: fc.integer({ min: 2, max: 12 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind("disable"), key, node, isDisabled: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("expire"), key, node, expires: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: kind("limits"), key, node, requests: quota, exports: quota }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind("credits"),
      key,
      node,
      remaining: fc.option(fc.nat({ max: 8 }), { nil: null, freq: 4 }),
      refill,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind("rotate"), key, node, overlaps: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("delete"), key, node }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind("keyspace"), node, isDisabled: fc.constantFrom(true, false, false) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind("consumer"), quota }) },
  // Past the end of every window, past midnight, and back without ending a window.
  { weight: 3, arbitrary: fc.record({ kind: kind("clock"), minutes: fc.constantFrom(121, 1_441, -7) }) },
);

/** A scenario. After a failure, at most 60 shorter ones are tried. */
export const scenarios: fc.Arbitrary<readonly Step[]> = fc.limitShrink(
  fc.array(step, { minLength: 25, maxLength: 60, size: "max" }),
  60,
);
