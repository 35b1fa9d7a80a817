import { encodeId } from "@latchkey/db/ids";
import type { WorkspaceKey } from "@latchkey/db/workspace-keys";

/** An API key as the members of a workspace see it, for the web app. */
export function presentWorkspaceKey(key: WorkspaceKey) {
  const { id, ownerId, ownerName, ownerEmail, ownerRole, isOwnerDisabled, ...rest } = key;
  return {
    ...rest,
    id: encodeId("key", id),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    owner: {
      id: encodeId("user", ownerId),
      name: ownerName,
      email: ownerEmail,
      role: ownerRole,
      isDisabled: isOwnerDisabled,
    },
  };
}
