import type { Outcome } from "@latchkey/auth/outcome";

/** Why, in words for the key's user. Callers never hear them. */
const explanations: Record<Outcome, string> = {
  admitted: "The key was good for this request.",
  limited: "The key was past its limit. It is good again when its window ends.",
  deleted: "The key was deleted.",
  "user-disabled": "Your account was disabled, and with it all of its keys.",
  disabled: "The key was disabled.",
  expired: "The key had expired.",
  "rotated-out": "The secret was replaced by a rotation, and the time in which both were good was over.",
  address: "The key may be used from certain addresses only, and this was none of them.",
  narrowed: "The request needs a key with all of your rights, and this one has fewer.",
  "workspace-not-in-key": "The key is held to certain workspaces, and this was none of them.",
  "no-member": "You were no member of this workspace, or there was no such workspace.",
  "no-permission": "Your role in the workspace did not allow this.",
  "permission-not-in-key": "Your role allowed this, but the key is held to fewer permissions.",
};

/** @param outcome as it was recorded; an older version may have known others. */
export function explainOutcome(outcome: string): string {
  return explanations[outcome as Outcome] ?? "The key was refused.";
}
