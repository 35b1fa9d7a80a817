import fc from "fast-check";
import type { RequirementModel } from "./bounds.ts";
import type { RoleModel } from "./model.ts";

/**
 * What the next step waits for: with `nothing` it goes at once, so that the two overlap; with `itself` it comes after
 * the answer; with `everything` after all answers that are still out.
 */
export type Awaits = "nothing" | "itself" | "everything";

/** Users, keys, nodes and connections are numbers that are taken modulo how many there are. */
export type Step = { readonly awaits: Awaits } & (
  | {
      readonly kind: "use";
      readonly key: number;
      readonly node: number;
      readonly connection: number;
      /** Which of the key's secrets, the last one first. */
      readonly secret: number;
      readonly requirement: RequirementModel | undefined;
      /** One after the other, over the same connection. */
      readonly requests: number;
    }
  | { readonly kind: "list"; readonly user: number; readonly node: number }
  | { readonly kind: "clock"; readonly direction: "forward" | "back" }
  | ({
      /** Whether each key that it touched is used on each node as soon as it was acknowledged. */
      readonly isTried: boolean;
    } & (
      | { readonly kind: "create"; readonly user: number; readonly node: number }
      | { readonly kind: "rename"; readonly key: number; readonly node: number }
      | { readonly kind: "delete"; readonly key: number; readonly node: number }
      | { readonly kind: "hold"; readonly key: number; readonly node: number; readonly to: Holding }
      | { readonly kind: "rotate"; readonly key: number; readonly node: number; readonly overlap: Overlap }
      | { readonly kind: "end"; readonly key: number; readonly node: number }
      | { readonly kind: "role"; readonly user: number; readonly node: number; readonly role: RoleModel }
      | { readonly kind: "disable"; readonly user: number }
      | { readonly kind: "enable"; readonly user: number }
    ))
);

/** What a key is held to from now on, a time for an hour from now. */
export type Holding = "free" | "disabled" | "elsewhere" | "seeing" | "limited" | "expiring";

/** In seconds. */
type Overlap = 0 | 3_600 | 604_800;

const user = fc.nat({ max: 2 });
const key = fc.nat({ max: 11 });
const node = fc.nat({ max: 1 });
const awaits = fc.constantFrom<Awaits>("nothing", "nothing", "itself", "everything");
const role = fc.constantFrom<RoleModel[]>("admin", "member", "viewer", undefined);
const change = { awaits, isTried: fc.boolean() };

const use = fc.record({
  kind: fc.constant("use" as const),
  awaits: fc.constantFrom<Awaits>("nothing", "nothing", "nothing", "itself"),
  key,
  node,
  connection: fc.nat({ max: 7 }),
  secret: fc.constantFrom(0, 0, 0, 1, 2),
  requirement: fc.constantFrom<(RequirementModel | undefined)[]>(undefined, undefined, "see", "audit"),
  requests: fc.integer({ min: 1, max: 8 }),
});

const holding = fc.constantFrom<Holding[]>(
  "free",
  "disabled",
  "elsewhere",
  "seeing",
  "limited",
  "limited",
  "limited",
  "expiring",
);
const overlap = fc.constantFrom<Overlap[]>(0, 3_600, 604_800);
const direction = fc.constantFrom("forward" as const, "back" as const);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: use },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("hold" as const), ...change, key, node, to: holding }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rotate" as const), ...change, key, node, overlap }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end" as const), ...change, key, node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clock" as const), awaits, direction }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("list" as const), awaits, user, node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("create" as const), ...change, user, node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename" as const), ...change, key, node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), ...change, key, node }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("role" as const), ...change, user, node, role }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("disable" as const), ...change, user }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("enable" as const), ...change, user }) },
);

/** A whole story; a shorter one is tried at most 40 times where one fails, since each takes its time. */
export const stories: fc.Arbitrary<readonly Step[]> = fc.limitShrink(
  fc.array(step, { minLength: 20, maxLength: 60, size: "max" }),
  40,
);
