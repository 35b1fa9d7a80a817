import fc from "fast-check";
import type { PolicyModel, RequirementModel } from "./key-restrictions.ts";
import type { RoleModel } from "./model.ts";

/**
 * What the next step waits for: `nothing`, so that the two are concurrent; `itself`, this step's response; or
 * `everything`, all pending responses.
 */
export type Awaits = "nothing" | "itself" | "everything";

/** Users, keys, nodes and connections are numbers modulo their count. */
export type Step = { readonly awaits: Awaits } & (
  | {
      readonly kind: "use";
      readonly key: number;
      readonly node: number;
      readonly connection: number;
      /** The index of the key's secret, from the newest. */
      readonly secret: number;
      readonly requirement: RequirementModel | undefined;
      /** The number of requests, one after the other on the same connection. */
      readonly requests: number;
    }
  | { readonly kind: "list"; readonly user: number; readonly node: number }
  | { readonly kind: "clock"; readonly direction: "forward" | "back" }
  | ({
      /** Whether each affected key is used on each node immediately after the acknowledgment. */
      readonly isVerified: boolean;
    } & (
      | { readonly kind: "create"; readonly user: number; readonly node: number }
      | { readonly kind: "rename"; readonly key: number; readonly node: number }
      | { readonly kind: "delete"; readonly key: number; readonly node: number }
      | {
          readonly kind: "restrict";
          readonly key: number;
          readonly node: number;
          readonly to: RestrictionKind;
        }
      | { readonly kind: "rotate"; readonly key: number; readonly node: number; readonly overlap: Overlap }
      | { readonly kind: "revoke"; readonly key: number; readonly node: number }
      | { readonly kind: "role"; readonly user: number; readonly node: number; readonly role: RoleModel }
      | { readonly kind: "block"; readonly key: number; readonly node: number; readonly isBlocked: boolean }
      | { readonly kind: "makeIdle"; readonly key: number }
      | { readonly kind: "policy"; readonly node: number; readonly policy: PolicyModel }
      | { readonly kind: "disable"; readonly user: number }
      | { readonly kind: "enable"; readonly user: number }
    ))
);

/** The new restriction of a key; the expiry is in an hour. */
export type RestrictionKind =
  | "unrestricted"
  | "disabled"
  | "other-ip-range"
  | "read-only"
  | "limited"
  | "expiring";

/** In seconds. */
type Overlap = 0 | 3_600 | 604_800;

const user = fc.nat({ max: 2 });
const key = fc.nat({ max: 11 });
const node = fc.nat({ max: 1 });
const awaits = fc.constantFrom<Awaits>("nothing", "nothing", "itself", "everything");
const role = fc.constantFrom<RoleModel[]>("admin", "member", "viewer", undefined);
const change = { awaits, isVerified: fc.boolean() };

const use = fc.record({
  kind: fc.constant("use" as const),
  awaits: fc.constantFrom<Awaits>("nothing", "nothing", "nothing", "itself"),
  key,
  node,
  connection: fc.nat({ max: 7 }),
  secret: fc.constantFrom(0, 0, 0, 1, 2),
  requirement: fc.constantFrom<(RequirementModel | undefined)[]>(undefined, undefined, "read", "audit"),
  requests: fc.integer({ min: 1, max: 8 }),
});

const restriction = fc.constantFrom<RestrictionKind[]>(
  "unrestricted",
  "disabled",
  "other-ip-range",
  "read-only",
  "limited",
  "limited",
  "limited",
  "expiring",
);
const overlap = fc.constantFrom<Overlap[]>(0, 3_600, 604_800);
const policy = fc.constantFrom<PolicyModel[]>(
  "none",
  "none",
  "expiry-required",
  "max-lifetime",
  "ip-ranges-required",
  "idle",
  "idle",
);
const direction = fc.constantFrom("forward" as const, "back" as const);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: use },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("restrict" as const), ...change, key, node, to: restriction }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rotate" as const), ...change, key, node, overlap }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), ...change, key, node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clock" as const), awaits, direction }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("list" as const), awaits, user, node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("create" as const), ...change, user, node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename" as const), ...change, key, node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), ...change, key, node }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("role" as const), ...change, user, node, role }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("block" as const),
      ...change,
      key,
      node,
      isBlocked: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("makeIdle" as const), ...change, key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("policy" as const), ...change, node, policy }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("disable" as const), ...change, user }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("enable" as const), ...change, user }) },
);

/** A scenario. After a failure, at most 40 shorter ones are tried, because each takes a while. */
export const scenarios: fc.Arbitrary<readonly Step[]> = fc.limitShrink(
  fc.array(step, { minLength: 20, maxLength: 60, size: "max" }),
  40,
);
