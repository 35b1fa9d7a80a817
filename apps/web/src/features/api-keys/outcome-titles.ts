const titles: Readonly<Record<string, string>> = {
  limited: "Past its limit",
  deleted: "Deleted",
  "user-disabled": "Account disabled",
  disabled: "Disabled",
  expired: "Expired",
  "rotated-out": "Rotated-out secret",
  address: "Address not allowed",
  narrowed: "Needs all of your rights",
  "workspace-not-in-key": "Workspace not allowed",
  "no-member": "No member of the workspace",
  "no-permission": "Your role does not allow it",
  "permission-not-in-key": "Permission not allowed",
};

/** Why a request was not let in, in two or three words; the name itself for one of a later version. */
export function outcomeTitle(outcome: string): string {
  return titles[outcome] ?? outcome;
}
