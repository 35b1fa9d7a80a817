import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { UserId } from "@latchkey/db/ids";
import { listManagerIds } from "@latchkey/db/members";
import { maxManagers } from "@latchkey/db/notice-sources";
import type { Trx } from "@latchkey/db/schema";
import { findKeyOwner } from "@latchkey/db/users";
import { tryLockMembers } from "@latchkey/db/workspace-locks";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { addQuotaNotice, isNearlyReached, type Quotas } from "./quotas.ts";
import { getWorkspace } from "./workspaces.ts";

/**
 * Notifies the owner of API keys that their quota is nearly reached. For a service account, notifies the owners and
 * admins of its workspace.
 * @param use.count with the key that was just created.
 */
export async function addKeyQuotaNotice(
  trx: Trx,
  quotas: Quotas,
  { userId, count }: { readonly userId: UserId; readonly count: number },
): Promise<void> {
  const use = { quota: "keysPerUser", count } as const;
  if (!isNearlyReached(quotas, use)) return;
  const owner = await findKeyOwner(trx, userId);
  if (!owner?.serviceWorkspaceId) return await addQuotaNotice(trx, quotas, { ...use, userIds: [userId] });
  const scope = openAsOperator(owner.serviceWorkspaceId);
  const workspaceTrx = await enterWorkspace(trx, scope);
  // Otherwise, a manager who is removed concurrently could get the notice after the removal has deleted theirs. Doesn't wait,
  // because this transaction has locked the service account, and others lock the workspace first.
  if (!(await tryLockMembers(workspaceTrx, scope))) return;
  await addQuotaNotice(trx, quotas, {
    ...use,
    userIds: await listManagerIds(workspaceTrx, scope, maxManagers),
    workspace: await getWorkspace(workspaceTrx, scope),
    serviceAccount: { id: userId, name: owner.name },
  });
}
