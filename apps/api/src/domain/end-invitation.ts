import { invitationSubject } from "@latchkey/auth/workspace-access";
import type { InvitationId } from "@latchkey/db/ids";
import { deleteInvitation } from "@latchkey/db/invitations";
import { deleteVerifications } from "@latchkey/db/verifications";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { invitationPurpose } from "./invitation-link.ts";

/** Deletes an invitation and its link. */
export async function endInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
): Promise<void> {
  await deleteVerifications(trx, { purpose: invitationPurpose, subject: invitationSubject(scope, id) });
  await deleteInvitation(trx, scope, { id });
}
