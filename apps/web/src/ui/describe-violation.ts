import { countOf } from "./count.ts";

/** The parts of a policy that its rules mention. */
interface MentionedPolicy {
  readonly maxLifetimeDays: number | null;
  readonly maxIdleDays: number | null;
}

/** The rule of a workspace that a key violates. */
type Violation =
  | "second-factor-required"
  | "expiry-required"
  | "max-lifetime"
  | "ip-ranges-required"
  | "idle";

/** Why a workspace rejects a key, in a few words. */
export const violationTitles: Readonly<Record<Violation, string>> = {
  "second-factor-required": "Owner has no second factor",
  "expiry-required": "Never expires",
  "max-lifetime": "Expires too late",
  "ip-ranges-required": "No IP ranges",
  idle: "Not used here for too long",
};

/** What a workspace requires of keys, as a sentence without a subject: "must expire". */
export function describeRule(violation: Violation, policy: MentionedPolicy): string {
  switch (violation) {
    case "second-factor-required":
      return "must belong to a member with a second factor";
    case "expiry-required":
      return "must expire";
    case "max-lifetime":
      return `must expire within ${days(policy.maxLifetimeDays)} of their creation or last rotation`;
    case "ip-ranges-required":
      return "must be restricted to IP ranges";
    case "idle":
      return `must be used here at least once every ${policy.maxIdleDays === 1 ? "day" : days(policy.maxIdleDays)}`;
    default:
      return violation satisfies never;
  }
}

/** What the owner of a key can do about a violation. */
export function describeRemedy(violation: Violation): string {
  switch (violation) {
    case "second-factor-required":
      return "Set up a second factor for your account.";
    case "expiry-required":
      return "Edit the key’s restrictions, and set an expiry.";
    case "max-lifetime":
      return "Edit the key’s restrictions, and set an earlier expiry. If the key is old, rotate it first.";
    case "ip-ranges-required":
      return "Edit the key’s restrictions, and set IP ranges.";
    case "idle":
      return "Ask an owner or admin of the workspace to unblock the key. Rotating the key doesn’t help.";
    default:
      return violation satisfies never;
  }
}

function days(count: number | null): string {
  return countOf(count ?? 0, "day", "days");
}
