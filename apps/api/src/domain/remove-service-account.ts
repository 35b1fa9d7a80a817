import type { Origin } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { listInvitationsBy } from "@latchkey/db/invitations";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import type { Member } from "@latchkey/db/members";
import { disableServiceAccount } from "@latchkey/db/service-accounts";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { endInvitation } from "./end-invitation.ts";
import type { Edit } from "./enter-for-edit.ts";

/**
 * Deletes the keys of a service account that is no longer a member, and revokes the invitations that it sent, which
 * no one can accept. Call it last in the transaction.
 */
export async function removeServiceAccount(
  trx: WorkspaceTrx,
  { scope, origin }: { readonly scope: Edit["scope"]; readonly origin: Origin },
  { userId, name, role }: Member,
): Promise<void> {
  for (const { id, email, role: invitedRole } of await listInvitationsBy(trx, scope, userId)) {
    await endInvitation(trx, scope, id);
    const before = { email, role: invitedRole };
    await appendAudit(trx, scope, origin, { action: "invitation.revoked", targetId: id, before });
  }
  const keyIds = await disableServiceAccount(trx, scope, userId);
  const before = { name, role, keys: keyIds.length };
  await appendAudit(trx, scope, origin, { action: "service-account.deleted", targetId: userId, before });
  await bumpKeyVersions(trx, { keyIds });
}
