import { deleteAllApiKeys } from "@latchkey/db/api-key-changes";
import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { listInvitationsBy } from "@latchkey/db/invitations";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { deleteMember, type Member } from "@latchkey/db/members";
import { disableServiceAccount } from "@latchkey/db/service-accounts";
import type { Versions } from "@latchkey/db/versions";
import { enterWorkspace, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { endInvitation } from "./end-invitation.ts";
import type { Edit } from "./enter-for-edit.ts";
import { recordDeletionOfKeys } from "./key-events.ts";

/**
 * Deletes a service account with its membership and its keys, and revokes the invitations that it sent, which no one can
 * accept. The service account must be locked. Call it last in the transaction.
 * @throws {AppError} PRECONDITION_FAILED if the membership is at none of `versions`.
 */
export async function removeServiceAccount(
  trx: WorkspaceTrx,
  { scope, origin }: { readonly scope: Edit["scope"]; readonly origin: Origin },
  {
    userId,
    name,
    role,
    versions,
  }: Pick<Member, "userId" | "name" | "role"> & { readonly versions: Versions },
): Promise<void> {
  for (const { id, email, role: invitedRole } of await listInvitationsBy(trx, scope, userId)) {
    await endInvitation(trx, scope, id);
    const before = { email, role: invitedRole };
    await appendAudit(trx, scope, origin, { action: "invitation.revoked", targetId: id, before });
  }
  const keys = await deleteAllApiKeys(trx, userId);
  // The keys reach the workspace only as long as the service account is a member.
  await recordDeletionOfKeys(trx, { userId, origin }, keys);
  await enterWorkspace(trx, scope); // It may have entered other workspaces.
  if (!(await deleteMember(trx, scope, { userId, versions }))) throw new AppError("PRECONDITION_FAILED");
  await disableServiceAccount(trx, scope, userId);
  const before = { name, role, keys: keys.length };
  await appendAudit(trx, scope, origin, { action: "service-account.deleted", targetId: userId, before });
  await bumpKeyVersions(trx, { keyIds: keys.map(({ id }) => id) });
}
