import fc from "fast-check";
import type { RefillModel } from "./latest-refill.ts";
import type { AddressModel, PermissionsModel, QueryModel } from "./model.ts";

/**
 * One verification. Keys are numbers modulo their count, and secrets count from the current one. The last key belongs to another
 * workspace, and was imported with the secret of the one before it.
 */
export interface VerificationStep {
  readonly key: number;
  readonly secret: number;
  /** The workspace that the request names; undefined for none. */
  readonly place: PlaceModel;
  readonly cost: number;
  readonly query: QueryModel;
  readonly address: AddressModel;
  readonly limit: { readonly name: string; readonly cost: number | undefined } | undefined;
}

export type PlaceModel = "own" | "other" | undefined;

/** A change to one key, which needs a key that isn't deleted. */
export type KeyStep = { readonly key: number; readonly node: number } & (
  | { readonly kind: "disable"; readonly isDisabled: boolean }
  | { readonly kind: "expire"; readonly expires: boolean }
  | { readonly kind: "ipRanges"; readonly hasIpRange: boolean }
  | { readonly kind: "permissions"; readonly permissions: PermissionsModel }
  | {
      readonly kind: "limits";
      readonly requests: number | undefined;
      readonly exports: number | undefined;
    }
  | { readonly kind: "credits"; readonly remaining: number | null; readonly refill: RefillModel | null }
  /** A change to the balance by itself. */
  | { readonly kind: "balance"; readonly change: "set" | "add" | "subtract"; readonly amount: number }
  | { readonly kind: "rotate"; readonly overlaps: boolean }
  | { readonly kind: "delete" }
);

export type Step =
  | KeyStep
  | {
      /** A batch, or a single verification if there is one. */
      readonly kind: "verify";
      readonly node: number;
      readonly verifications: readonly VerificationStep[];
      /** Whether the request has an `Idempotency-Key`. */
      readonly isNamed: boolean;
    }
  /** The latest request with an `Idempotency-Key` again. */
  | { readonly kind: "retry"; readonly node: number }
  /** The same request several times at the same time, on both nodes. */
  | { readonly kind: "burst"; readonly key: number; readonly cost: number; readonly count: number }
  | {
      readonly kind: "bulk";
      readonly node: number;
      readonly action: "enable" | "disable" | "delete";
      /** Undefined for all keys of the consumer. */
      readonly keys: readonly number[] | undefined;
    }
  | { readonly kind: "keyspace"; readonly node: number; readonly isDisabled: boolean }
  /** Deletes the keyspace on a node. The steps after it use a new one. */
  | { readonly kind: "deleteKeyspace"; readonly node: number }
  /** The workspace of the keyspace. While it is disabled, nothing in it is changed. */
  | { readonly kind: "workspace"; readonly isDisabled: boolean }
  | { readonly kind: "consumer"; readonly node: number; readonly quota: number | undefined }
  /** The user whose API key verifies. */
  | { readonly kind: "caller"; readonly isDisabled: boolean }
  /** To a few minutes after a midnight, or by some minutes. */
  | { readonly kind: "clock"; readonly minutes: "midnight" | number };

const key = fc.constantFrom(0, 1, 2, 2, 3);
const node = fc.nat({ max: 1 });
const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const quota = fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined });
const mostly = (value: boolean) => fc.constantFrom(value, value, value, value, value, !value);
const refill = fc.constantFrom<(RefillModel | null)[]>(
  null,
  { amount: 6, interval: "daily", day: null },
  { amount: 6, interval: "daily", day: null },
  { amount: 9, interval: "monthly", day: 31 },
  { amount: 9, interval: "monthly", day: 15 },
);

const verification: fc.Arbitrary<VerificationStep> = fc.record({
  key,
  secret: fc.constantFrom(0, 0, 0, 1, 2),
  place: fc.constantFrom<PlaceModel[]>(undefined, undefined, undefined, undefined, "own", "other"),
  cost: fc.constantFrom(0, 1, 1, 1, 2, 3),
  query: fc.constantFrom<QueryModel[]>("write", "write", "write", "write", "either", "admin"),
  address: fc.constantFrom<AddressModel[]>("inside", "inside", "inside", "outside", undefined),
  limit: fc.option(
    fc.record({
      // Those of keys that a request names, those that apply always, that of the consumer, and none.
      name: fc.constantFrom("exports", "exports", "exports", "requests", "shared", "unknown"),
      cost: fc.constantFrom(undefined, 0, 1, 2),
    }),
    { nil: undefined, freq: 2 },
  ),
});
/** An unknown limit fails a whole batch, so verifications of batches rarely name one. */
const inBatch = fc
  .tuple(verification, mostly(false))
  .map(([one, isNaming]) => (isNaming ? one : { ...one, limit: undefined }));

const verify = (verifications: fc.Arbitrary<VerificationStep[]>) =>
  fc.record({ kind: kind("verify"), node, verifications, isNamed: mostly(false) });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: verify(fc.tuple(verification)) },
  { weight: 5, arbitrary: verify(fc.array(inBatch, { minLength: 2, maxLength: 8, size: "max" })) },
  { weight: 3, arbitrary: fc.record({ kind: kind("retry"), node }) },
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
  // Frequent, because the result is EXPIRED only after a step of the clock past the expiration, and if nothing rejects the key first.
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind("expire"),
      key,
      node,
      expires: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind("ipRanges"),
      key,
      node,
      hasIpRange: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind("permissions"),
      key,
      node,
      permissions: fc.constantFrom<PermissionsModel[]>("documents", "documents", "all", "read", "none"),
    }),
  },
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
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind("balance"),
      key,
      node,
      change: fc.constantFrom("set" as const, "add" as const, "subtract" as const, "subtract" as const),
      amount: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind("rotate"), key, node, overlaps: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("delete"), key, node }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: kind("bulk"),
      node,
      action: fc.constantFrom(
        ...(["enable", "enable", "enable", "enable", "enable", "disable", "disable", "delete"] as const),
      ),
      keys: fc.option(fc.array(key, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind("keyspace"),
      node,
      isDisabled: fc.constantFrom(true, false, false, false),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind("deleteKeyspace"), node }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind("workspace"),
      isDisabled: fc.constantFrom(true, false, false, false),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind("consumer"), node, quota }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind("caller"), isDisabled: fc.constantFrom(true, false, false) }),
  },
  // Past the end of every window, past midnight, past the end of a month, and back without ending a window.
  {
    weight: 5,
    arbitrary: fc.record({
      kind: kind("clock"),
      minutes: fc.constantFrom<("midnight" | number)[]>(121, 1_441, 44_641, "midnight", -7, -7),
    }),
  },
);

/** A scenario. After a failure, at most 60 shorter ones are tried. */
export const scenarios: fc.Arbitrary<readonly Step[]> = fc.limitShrink(
  fc.array(step, { minLength: 25, maxLength: 60, size: "max" }),
  60,
);
