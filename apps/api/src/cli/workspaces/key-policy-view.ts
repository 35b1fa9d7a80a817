import type { StoredPolicy } from "@latchkey/db/api-key-policies";
import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Workspace } from "@latchkey/db/workspaces";
import { presentPolicy, type presentRejectedKey } from "../../presenters/api-key-policy.ts";
import type { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { formatTime } from "../format.ts";
import { isExpired } from "../keys/key-view.ts";
import type { View } from "../result.ts";

/** A policy in the command's JSON: as in the open API, with the workspace. */
export function presentPolicyOf(workspaceId: WorkspaceId, policy: StoredPolicy) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentPolicy(policy) };
}

export const policyView: View<ReturnType<typeof presentPolicyOf>> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId },
  { label: "Expiry", text: ({ isExpiryRequired }) => (isExpiryRequired ? "required" : "not required") },
  { label: "Maximum lifetime", text: ({ maxLifetimeDays }) => formatDays(maxLifetimeDays) },
  {
    label: "IP ranges",
    text: ({ areIpRangesRequired }) => (areIpRangesRequired ? "required" : "not required"),
  },
  { label: "Maximum idle time", text: ({ maxIdleDays }) => formatDays(maxIdleDays) },
];

function formatDays(days: number | null): string {
  if (days === null) return "none";
  return days === 1 ? "1 day" : `${days} days`;
}

type PresentedRejectedKey = ReturnType<typeof presentRejectedKey>;

export const rejectedKeyView: View<PresentedRejectedKey> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Rule", text: ({ violation }) => violation },
  {
    label: "Last used here",
    text: ({ lastUsedAt }) => (lastUsedAt ? formatTime(lastUsedAt) : "not recently"),
  },
  { label: "Owner", text: ({ owner }) => owner.name },
  { label: "Name", text: ({ name }) => name },
];

type PresentedWorkspaceKey = ReturnType<typeof presentWorkspaceKey>;

/** The columns for the API keys of a workspace. */
export function viewKeysOf(workspace: Pick<Workspace, "disabledAt">): View<PresentedWorkspaceKey> {
  return [
    { label: "ID", text: ({ id }) => id },
    {
      label: "Status",
      text: (key) => findRejection(key) ?? (workspace.disabledAt ? "workspace disabled" : "accepted"),
    },
    {
      label: "Last used here",
      text: ({ lastUsedAt }) => (lastUsedAt ? formatTime(lastUsedAt) : "not recently"),
    },
    { label: "Expires", text: ({ expiresAt }) => (expiresAt ? formatTime(expiresAt) : "never") },
    { label: "Owner", text: ({ owner }) => owner.email ?? owner.name },
    { label: "Name", text: ({ name }) => name },
  ];
}

/** Why a key is rejected in a workspace that isn't disabled. Returns undefined for a key that is accepted. */
function findRejection(key: PresentedWorkspaceKey): string | undefined {
  const { isDisabled, isBlocked, violation, owner } = key;
  if (isDisabled) return "disabled";
  if (owner.isDisabled) return "owner disabled";
  if (isExpired(key)) return "expired";
  if (isBlocked) return "blocked";
  return violation ?? undefined;
}
