import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Db, Role } from "@latchkey/db/schema";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { type AffectedKey, previewOffboarding } from "../../domain/offboarding.ts";
import { getWorkspaceSummary } from "../../domain/workspaces.ts";
import { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { type ListResult, listOf } from "../result.ts";
import { workspaceKeyView } from "../workspaces/key-policy-view.ts";

/**
 * Lists the API keys of a member that can do less, or nothing, in a workspace after a change, the busiest first.
 * @param change.role the new role; undefined for a removal.
 */
export async function previewStoppedKeys(
  db: Db,
  workspace: WorkspaceId,
  change: { readonly userId: UserId; readonly role?: Role },
): Promise<ListResult> {
  const scope = openAsOperator(workspace);
  await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace.
  const { keys } = await inWorkspace(db, scope, (trx) => previewOffboarding(trx, scope, change));
  const stopped = keys.filter(({ stoppedPermissions }) => stoppedPermissions.length > 0);
  return listOf(iterate(stopped), {
    present: ({ stoppedPermissions, ...key }) => ({ ...presentWorkspaceKey(key), stoppedPermissions }),
    view: [
      ...workspaceKeyView.filter(({ label }) => label !== "Owner"),
      {
        label: "Stops",
        text: ({ stoppedPermissions }) => (change.role ? stoppedPermissions.join(", ") : "everything"),
      },
    ],
    emptyText: "No key would stop working.",
  });
}

async function* iterate(keys: readonly AffectedKey[]): AsyncGenerator<AffectedKey> {
  yield* keys;
}
