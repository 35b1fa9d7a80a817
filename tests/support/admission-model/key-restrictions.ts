import type { UncertainValue } from "./uncertain-value.ts";

// The restrictions of a key in a scenario, with a clock that is set forward and back. Times are in minutes.

/** What a request requires in addition to a valid key: to read the workspace, or its audit log. */
export type RequirementModel = "read" | "audit";

/** The restriction of a key: none, disabled, an IP range without the client, read-only, a rate limit, an expiry. */
export type SettingsModel =
  | { readonly kind: "unrestricted" | "disabled" | "other-ip-range" | "read-only" | "limited" }
  | { readonly kind: "expiring"; readonly until: number };

/** A secret of a key. */
export interface SecretModel {
  /** Infinite for the current secret. */
  readonly validUntil: UncertainValue<number>;
}

/** The quota of a rate-limited key per window, which lasts an hour. */
export const quota = 5;

/** The steps of the clock: forward past the end of every window, and back without ending one. */
export const clockSteps = { forward: 120, back: -10 } as const;

/** Whether settings allow a request at a time. */
function allows(settings: SettingsModel, clock: number, requirement: RequirementModel | undefined): boolean {
  switch (settings.kind) {
    case "disabled":
    case "other-ip-range":
      return false;
    case "read-only":
      return requirement !== "audit";
    case "expiring":
      return clock < settings.until;
    default:
      return true;
  }
}

/**
 * The possible decisions about a request with a secret, as far as the key itself decides; both if that is
 * uncertain.
 */
export function possibleDecisions(
  facts: {
    readonly settings: UncertainValue<SettingsModel>;
    readonly secret: SecretModel;
    readonly clock: UncertainValue<number>;
  },
  requirement: RequirementModel | undefined,
): ReadonlySet<boolean> {
  const { settings, secret, clock } = facts;
  return new Set(
    [...clock.possible].flatMap((time) =>
      [...settings.possible].flatMap((candidate) =>
        [...secret.validUntil.possible].map((until) => time < until && allows(candidate, time, requirement)),
      ),
    ),
  );
}

/** The policy of the workspace: one rule, or none. */
export type PolicyModel = "none" | "expiry-required" | "max-lifetime" | "ip-ranges-required" | "idle";

/**
 * Whether a key was created just now; or long ago, without a use in the workspace since; or long ago, and an admin
 * unblocked it just now.
 */
export type AgeModel = "new" | "idle" | "old";

/** The possible decisions of the workspace about a key. */
export function possibleAcceptances(facts: {
  readonly policy: UncertainValue<PolicyModel>;
  readonly isBlocked: UncertainValue<boolean>;
  readonly age: UncertainValue<AgeModel>;
  readonly settings: UncertainValue<SettingsModel>;
}): ReadonlySet<boolean> {
  const { policy, isBlocked, age, settings } = facts;
  return new Set(
    [...isBlocked.possible].flatMap((blocked) =>
      blocked
        ? [false]
        : [...policy.possible].flatMap((rule) =>
            [...age.possible].flatMap((since) =>
              [...settings.possible].flatMap(({ kind }) => meetsRule(rule, since, kind)),
            ),
          ),
    ),
  );
}

function meetsRule(rule: PolicyModel, age: AgeModel, kind: SettingsModel["kind"]): readonly boolean[] {
  switch (rule) {
    case "expiry-required":
      return [kind === "expiring"];
    case "max-lifetime":
      // The lifetime of a key from long ago is too long, unless it was rotated.
      return kind === "expiring" && age !== "new" ? [true, false] : [kind === "expiring"];
    case "ip-ranges-required":
      return [kind === "other-ip-range"];
    case "idle":
      return [age !== "idle"];
    default:
      return [true];
  }
}

/** A request, for the rate limit of its key. */
interface Entry {
  /** The possible windows, numbered by how many times the clock was set forward before. */
  readonly windows: ReadonlySet<number>;
  /** The possible answers to whether the key was rate limited. */
  readonly isLimited: ReadonlySet<boolean>;
  /** Undefined while it is in flight, or if its outcome is unknown, which counts as possibly admitted. */
  isAdmitted: boolean | undefined;
}

/**
 * Checks a key's rate limit: at most the quota is admitted per window, and a request is rate limited only after the
 * quota.
 */
export class RateLimitModel {
  readonly #entries: Entry[] = [];

  enter(seen: Pick<Entry, "windows" | "isLimited">): Entry {
    const entry: Entry = { ...seen, isAdmitted: undefined };
    this.#entries.push(entry);
    return entry;
  }

  /** @throws an Error if more requests were admitted in one window than the quota. */
  admit(entry: Entry): void {
    entry.isAdmitted = true;
    const [window, ...more] = entry.windows;
    if (more.length > 0 || entry.isLimited.has(false)) return;
    const certain = this.#entries.filter(
      ({ windows, isLimited, isAdmitted }) =>
        isAdmitted && windows.size === 1 && windows.has(window ?? -1) && !isLimited.has(false),
    );
    if (certain.length > quota)
      throw new Error(`The model doesn't allow this: ${certain.length} uses were admitted in one window.`);
  }

  /** @throws an Error if the key wasn't rate limited, or the window had remaining requests. */
  reject(entry: Entry): void {
    entry.isAdmitted = false;
    if (!entry.isLimited.has(true))
      throw new Error("The model doesn't allow this: a use exceeded a rate limit.");
    const possible = this.#entries.filter(
      ({ windows, isLimited, isAdmitted }) =>
        isAdmitted !== false && isLimited.has(true) && !windows.isDisjointFrom(entry.windows),
    );
    if (possible.length < quota)
      throw new Error(
        `The model doesn't allow this: a use exceeded the rate limit after ${possible.length}.`,
      );
  }
}
