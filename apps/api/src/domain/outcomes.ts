import type { Outcome } from "@latchkey/auth/outcome";

/** The reasons, for the owner of the key. Callers of the API never see them. */
const explanations: Record<Outcome, string> = {
  admitted: "The key was valid for this request.",
  limited: "The key exceeded its rate limit. Requests are allowed again when the window resets.",
  deleted: "The key was deleted.",
  "user-disabled": "Your account was disabled, so all of your keys were rejected.",
  disabled: "The key was disabled.",
  expired: "The key had expired.",
  "rotated-out": "The secret was replaced by a rotation, and its overlap had ended.",
  address: "The key is restricted to IP ranges, and the request came from another IP address.",
  narrowed: "The request needs an unrestricted key, and this key is restricted.",
  "workspace-not-in-key": "The key is restricted to other workspaces.",
  "no-member": "You were not a member of this workspace, or it did not exist.",
  blocked:
    "An admin blocked the key from this workspace. Ask an owner or admin of the workspace to unblock it.",
  policy:
    "The workspace’s policy for API keys doesn’t allow the key. The key’s page says which setting to change.",
  "no-permission": "Your role in the workspace did not have the required permission.",
  "permission-not-in-key":
    "Your role had the required permission, but the key is restricted to other permissions.",
};

/** @param the recorded outcome, which may be one that only another version has. */
export function explainOutcome(outcome: string): string {
  return explanations[outcome as Outcome] ?? "The key was rejected.";
}
