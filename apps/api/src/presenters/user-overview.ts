import { encodeId } from "@latchkey/db/ids";
import type { UserOverview } from "@latchkey/db/operator-users";

/** A user as operators see them: no data of workspaces except their number. */
export function presentUserOverview(user: UserOverview & { readonly workspaceCount: number }) {
  return {
    id: encodeId("user", user.id),
    name: user.name,
    email: user.email,
    isOperator: user.isOperator,
    isOnlyOperator: user.isOnlyOperator,
    isDisabled: user.isDisabled,
    createdAt: user.createdAt.toISOString(),
    lastSignInAt: user.lastSignInAt?.toISOString() ?? null,
    workspaceCount: user.workspaceCount,
    keyCount: user.keyCount,
  };
}
