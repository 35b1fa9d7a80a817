import { appendAudit } from "@latchkey/db/audit-events";
import {
  type Consumer,
  type ConsumerPath,
  findConsumer,
  lockConsumer,
  removeFormerWindows,
  updateConsumer,
} from "@latchkey/db/consumers";
import type { NamedLimit } from "@latchkey/db/issued-key-settings";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { listLimits } from "./issued-key-details.ts";
import { enterKeyspace } from "./issued-key-edits.ts";
import { getKeyspace } from "./keyspaces.ts";
import { requireChange } from "./require-change.ts";

/** @throws {AppError} NOT_FOUND */
export async function getConsumer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  path: ConsumerPath,
): Promise<Consumer> {
  await getKeyspace(trx, scope, path.keyspaceId);
  return (await findConsumer(trx, scope, path)) ?? consumerNotFound();
}

/**
 * Changes the limits that all keys of a consumer share. Once this is committed, every node applies them.
 * @throws {AppError} BAD_REQUEST without limits, NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export async function changeConsumer(
  trx: Trx,
  edit: Edit,
  path: ConsumerPath,
  { limits, versions }: { readonly limits?: readonly NamedLimit[]; readonly versions: Versions },
): Promise<Consumer> {
  requireChange({ limits });
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, path.keyspaceId);
  const before = (await lockConsumer(workspaceTrx, scope, path)) ?? consumerNotFound();
  if (isUnchanged(before, { versions, changes: { limits } })) return before;
  const change = { limits: limits ?? before.limits, versions };
  if (!(await updateConsumer(workspaceTrx, scope, before.id, change)))
    throw new AppError("PRECONDITION_FAILED");
  const after = await getConsumer(workspaceTrx, scope, path);
  if (JSON.stringify(before.limits) !== JSON.stringify(after.limits)) {
    const { externalId } = after;
    await appendAudit(workspaceTrx, scope, origin, {
      action: "consumer.changed",
      targetId: before.id,
      before: { limits: listLimits(before.limits) },
      after: { externalId, limits: listLimits(after.limits) },
    });
  }
  await bumpOwnerVersions(workspaceTrx, [before.id]);
  await removeFormerWindows(workspaceTrx, after);
  return after;
}

function consumerNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such consumer." });
}
