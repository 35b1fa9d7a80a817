import { listOwnerIds } from "@latchkey/db/members";
import type { NoticedQuota } from "@latchkey/db/notice-kinds";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { addQuotaNotice, type Quotas } from "./quotas.ts";
import { getWorkspace } from "./workspaces.ts";

/**
 * Notifies the owners of a workspace that one of its quotas is nearly reached.
 * @param use.count with the addition that was just made.
 */
export async function addWorkspaceQuotaNotice(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  quotas: Quotas,
  use: {
    readonly quota: Extract<NoticedQuota, `${string}PerWorkspace`>;
    readonly count: number;
  },
): Promise<void> {
  const workspace = await getWorkspace(trx, scope);
  await addQuotaNotice(trx, quotas, { ...use, workspace, userIds: await listOwnerIds(trx, scope) });
}
