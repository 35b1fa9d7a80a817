import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Db } from "@latchkey/db/schema";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { type AffectedKey, previewOffboarding } from "../../domain/offboarding.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { type ListResult, listOf } from "../result.ts";
import { viewKeysOf } from "../workspaces/key-policy-view.ts";

/**
 * Lists the API keys of a member that lose access in a workspace if the member is changed, busiest first.
 * @param change.role the new role; undefined for a removal.
 */
export async function previewAffectedKeys(
  db: Db,
  workspace: WorkspaceId,
  change: { readonly userId: UserId; readonly role?: Role },
): Promise<ListResult> {
  const scope = openAsOperator(workspace);
  const summary = await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace));
  const { keys } = await inWorkspace(db, scope, (trx) => previewOffboarding(trx, scope, change));
  const affected = keys.filter(({ lostPermissions }) => lostPermissions.length > 0);
  return listOf(iterate(affected), {
    present: ({ lostPermissions, ...key }) => ({
      ...presentWorkspaceKey(key),
      stoppedPermissions: lostPermissions,
    }),
    view: [
      ...viewKeysOf(summary).filter(({ label }) => label !== "Owner"),
      {
        label: "Loses",
        text: ({ stoppedPermissions }) => (change.role ? stoppedPermissions.join(", ") : "everything"),
      },
    ],
    emptyText: "No key would lose access.",
  });
}

async function* iterate(keys: readonly AffectedKey[]): AsyncGenerator<AffectedKey> {
  yield* keys;
}
