import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { countMembersByKind } from "@latchkey/db/count-members-by-kind";
import type { WorkspaceId } from "@latchkey/db/ids";
import { countIssuedKeys } from "@latchkey/db/issued-keys";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Db, Trx } from "@latchkey/db/schema";
import { countWorkspaceKeys } from "@latchkey/db/workspace-keys";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { enterWorkspace, inWorkspace } from "@latchkey/db/workspace-scope";
import { listMemberIds, setWorkspaceDisabled, type Workspace } from "@latchkey/db/workspaces";
import { lockWithOperators } from "./operators.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { getWorkspaceAsOperator } from "./workspaces.ts";

/**
 * What is in a workspace that is to be disabled or enabled, including members and keys that are disabled, and keys that are
 * expired or blocked.
 */
export interface WorkspaceCounts {
  readonly workspace: Workspace;
  /** People. */
  readonly memberCount: number;
  readonly serviceAccountCount: number;
  /** API keys that can reach the workspace. */
  readonly apiKeyCount: number;
  readonly issuedKeyCount: number;
}

/** Counts the members and keys of a workspace. @throws {AppError} NOT_FOUND */
export async function countContents(db: Db, id: WorkspaceId): Promise<WorkspaceCounts> {
  const scope = openAsOperator(id);
  return await inWorkspace(db, scope, async (trx) => ({
    workspace: await getWorkspaceAsOperator(trx, scope),
    ...(await countMembersByKind(trx, scope)),
    apiKeyCount: await countWorkspaceKeys(trx, scope, {}),
    issuedKeyCount: await countIssuedKeys(trx, scope),
  }));
}

/**
 * Disables a workspace, or enables it again. Can be repeated. Once this is committed, every node rejects requests in a disabled
 * workspace, and verifies its keys as disabled: the versions of the workspace and of its members as owners of keys are
 * incremented. No row of a key changes.
 * @throws {AppError} NOT_FOUND; FORBIDDEN without recent authentication, or if the person is no longer an operator.
 */
export async function setDisabled(
  trx: Trx,
  id: WorkspaceId,
  { isDisabled, origin }: { readonly isDisabled: boolean; readonly origin: Origin },
): Promise<void> {
  requireRecentAuthentication(origin);
  const scope = openAsOperator(id);
  const workspaceTrx = await enterWorkspace(trx, scope);
  // Members are added under the same lock, so that the versions of all of them are incremented.
  await lockWorkspace(workspaceTrx, scope);
  await getWorkspaceAsOperator(workspaceTrx, scope);
  const memberIds = await listMemberIds(workspaceTrx, scope);
  await lockWithOperators(workspaceTrx, memberIds, origin);
  if (!(await setWorkspaceDisabled(workspaceTrx, scope, isDisabled))) return;
  const action = isDisabled ? "workspace.disabled" : "workspace.enabled";
  await appendAudit(workspaceTrx, scope, origin, { action, targetId: id });
  await bumpOwnerVersions(workspaceTrx, [id, ...memberIds]);
}
