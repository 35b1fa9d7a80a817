import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { ServiceAccount } from "../../domain/service-accounts.ts";
import { presentServiceAccount } from "../../presenters/service-account.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A service account in the command's JSON: as in the open API, with the workspace. */
export type PresentedServiceAccount = ReturnType<typeof presentServiceAccountOf>;

export function presentServiceAccountOf(workspaceId: WorkspaceId, account: ServiceAccount) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentServiceAccount(account) };
}

export const serviceAccountView: View<PresentedServiceAccount> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "ID", text: ({ userId }) => userId },
  { label: "Role", text: ({ role }) => role },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "active") },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "Name", text: ({ name }) => name },
];
