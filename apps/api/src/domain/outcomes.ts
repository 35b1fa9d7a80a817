import type { Outcome } from "@latchkey/auth/outcome";
import type { UserKind } from "@latchkey/db/user-kind";

/** The reasons, for a person who owns the key. Callers of the API never see them. */
const explanations: Record<Outcome, string> = {
  admitted: "The key was valid for this request.",
  limited: "The key exceeded its rate limit. Requests are allowed again when the window resets.",
  deleted: "The key was deleted.",
  "user-disabled": "Your account was disabled, so all of your keys were rejected.",
  disabled: "The key was disabled.",
  expired: "The key had expired.",
  "rotated-out": "The request used an old secret that was no longer valid.",
  address:
    "The key is restricted to IP ranges, and the request came from an IP address outside those ranges.",
  narrowed: "The request needs a key that isn’t restricted to workspaces, permissions or read-only access.",
  "workspace-not-in-key": "The key is restricted to other workspaces.",
  "no-member": "You were not a member of this workspace, or it did not exist.",
  blocked:
    "An admin blocked the key from this workspace. Ask an owner or admin of the workspace to unblock it.",
  policy:
    "The workspace’s API key policy doesn’t allow the key, or it requires a second factor, which you don’t have. The key’s page says what the workspace requires.",
  "no-permission": "Your role in the workspace did not have the required permission.",
  "permission-not-in-key":
    "Your role had the required permission, but the key is restricted to other permissions.",
  "workspace-disabled": "The workspace was disabled. An operator of this instance can enable it.",
};

/** The explanations that differ for a key of a service account, which admins read. */
const serviceAccountExplanations: Partial<Record<Outcome, string>> = {
  "user-disabled": "The service account was disabled, so all of its keys were rejected.",
  policy:
    "The workspace’s API key policy doesn’t allow the key. The key’s page says what the workspace requires.",
  "no-member": "The service account belongs to another workspace, or the workspace did not exist.",
  "no-permission": "The role of the service account did not have the required permission.",
  "permission-not-in-key":
    "The role of the service account had the required permission, but the key is restricted to other permissions.",
};

/**
 * Explains an outcome to those who manage the key.
 * @param outcome as recorded, which may be one that only another version has.
 * @param ownerKind who the key belongs to.
 */
export function explainOutcome(outcome: string, ownerKind: UserKind): string {
  const specific = ownerKind === "service_account" ? serviceAccountExplanations : {};
  return specific[outcome as Outcome] ?? explanations[outcome as Outcome] ?? "The key was rejected.";
}
