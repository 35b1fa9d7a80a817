import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Keyspace } from "@latchkey/db/keyspaces";
import { describeCredits, describeLimit } from "../../domain/issued-key-details.ts";
import { presentKeyspace } from "../../presenters/keyspace.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A keyspace in the command's JSON: as in the open API, with the workspace. */
type PresentedKeyspace = ReturnType<typeof presentKeyspaceOf>;

export function presentKeyspaceOf(workspaceId: WorkspaceId, keyspace: Keyspace) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentKeyspace(keyspace) };
}

export const keyspaceView: View<PresentedKeyspace> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "ID", text: ({ id }) => id },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "enabled") },
  { label: "Prefix", text: ({ prefix }) => prefix },
  { label: "Environment", text: ({ environment }) => environment || "none" },
  { label: "Keys", text: ({ keyCount }) => String(keyCount) },
  {
    label: "Default lifetime",
    text: ({ defaultLifetimeDays }) => (defaultLifetimeDays === null ? "none" : `${defaultLifetimeDays}d`),
    isDetail: true,
  },
  {
    label: "Default permissions",
    text: ({ defaultPermissions }) => defaultPermissions.join("\n") || "none",
    isDetail: true,
  },
  {
    label: "Default limits",
    text: ({ defaultLimits }) => defaultLimits.map(describeLimit).join("\n") || "none",
    isDetail: true,
  },
  {
    label: "Default credits",
    text: ({ defaultCredits }) => describeCredits(defaultCredits) ?? "unlimited",
    isDetail: true,
  },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt), isDetail: true },
  { label: "Name", text: ({ name }) => name },
];
