import { openAsOperator } from "@latchkey/auth/workspace-access";
import { findInvitation } from "@latchkey/db/invitations";
import type { JobPayloads } from "@latchkey/db/job";
import { addNotices, hasTurnedOffInvitations } from "@latchkey/db/notices";
import type { Role } from "@latchkey/db/role";
import type { Db } from "@latchkey/db/schema";
import { findVerifiedUserId } from "@latchkey/db/users";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { replaceInvitationLink } from "./invitation-link.ts";
import { statusOf } from "./invitation-status.ts";
import { getWorkspace } from "./workspaces.ts";

/**
 * Creates the notice of an invitation in the app, if an account has verified its email address, because anyone can sign
 * up with an email address that they can't read.
 * Does nothing for an invitation that was accepted or revoked, or is no longer valid.
 */
export async function addInvitationNotice(
  db: Db,
  { workspaceId, invitationId: id }: JobPayloads["notice-invitation"],
): Promise<void> {
  const scope = openAsOperator(workspaceId);
  await inWorkspace(db, scope, async (trx) => {
    // Prevents the invitation from being accepted or revoked between the check and the insert, which would leave a
    // notice that nothing deletes.
    if (!(await lockWorkspace(trx, scope))) return;
    const invitation = await findInvitation(trx, scope, { id });
    if (!invitation || statusOf(invitation) !== "pending") return;
    const { email, role, inviter } = invitation;
    const userId = await findVerifiedUserId(trx, email);
    if (!userId) return;
    const { name: workspaceName, disabledAt } = await getWorkspace(trx, scope);
    if (disabledAt) return;
    const facts = { workspaceName, role, inviterName: inviter?.name ?? null };
    await addNotices(trx, [{ kind: "invitation", userId, subject: id, facts }]);
  });
}

/** An invitation, and the link to email. */
export interface InvitationToEmail {
  readonly email: string;
  readonly role: Role;
  readonly workspaceName: string;
  readonly inviterName: string | null;
  readonly expiresAt: Date;
  readonly url: string;
}

/**
 * Creates the link of an invitation that is to be emailed, just before it is sent, so that it is stored nowhere.
 * @returns undefined if the invitation was accepted or revoked, or is no longer valid, and if its recipient has turned off
 *   these emails.
 */
export async function prepareInvitationEmail(
  db: Db,
  { workspaceId, invitationId: id }: JobPayloads["send-invitation"],
  baseUrl: string,
): Promise<InvitationToEmail | undefined> {
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    if (!(await lockWorkspace(trx, scope))) return undefined;
    const invitation = await findInvitation(trx, scope, { id });
    if (!invitation?.isEmailed || statusOf(invitation) !== "pending") return undefined;
    if (await hasTurnedOffInvitations(trx, invitation.email)) return undefined;
    const { email, role, inviter, expiresAt } = invitation;
    const { name: workspaceName, disabledAt } = await getWorkspace(trx, scope);
    if (disabledAt) return undefined;
    const url = await replaceInvitationLink(trx, scope, id, baseUrl);
    return { email, role, workspaceName, inviterName: inviter?.name ?? null, expiresAt, url };
  });
}
