import { encodeId } from "@latchkey/db/ids";
import type { WorkspaceKey } from "@latchkey/db/workspace-keys";

/** An API key as the members of a workspace see it, for the web app. */
export function presentWorkspaceKey<Key extends WorkspaceKey>(key: Key) {
  const { id, ownerId, ownerName, ownerKind, ownerEmail, ownerRole, isOwnerDisabled, ...rest } = key;
  return {
    ...rest,
    id: encodeId("key", id),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    owner: {
      id: encodeId("user", ownerId),
      name: ownerName,
      kind: ownerKind,
      email: ownerEmail,
      role: ownerRole,
      isDisabled: isOwnerDisabled,
    },
  };
}
