const titles: Readonly<Record<string, string>> = {
  limited: "Rate limited",
  deleted: "Deleted",
  "user-disabled": "Account disabled",
  disabled: "Disabled",
  expired: "Expired",
  "rotated-out": "Old secret no longer valid",
  address: "IP address not allowed",
  narrowed: "Needs a key with full access",
  "workspace-not-in-key": "Workspace not allowed",
  "no-member": "Not a member of the workspace",
  blocked: "Blocked from the workspace",
  policy: "Not allowed by the workspace’s policy",
  "no-permission": "Not allowed by your role",
  "permission-not-in-key": "Permission not allowed",
  "workspace-disabled": "Workspace disabled",
  // Of verifications.
  VALID: "Valid",
  CHECKED: "Checked",
  RATE_LIMITED: "Rate limited",
  USAGE_EXCEEDED: "Out of credits",
  DISABLED: "Disabled",
  EXPIRED: "Expired",
  FORBIDDEN: "IP address not allowed",
  INSUFFICIENT_PERMISSIONS: "Missing permissions",
};

/**
 * The outcome of a request or a verification, or why it was rejected, in a few words. An outcome that is unknown to this version is
 * returned as is.
 */
export function outcomeTitle(outcome: string): string {
  return titles[outcome] ?? outcome;
}
