import { sql } from "kysely";
import type { InvitationId, UserId, WorkspaceId } from "./ids.ts";
import type { Trx } from "./schema.ts";

/**
 * Deletes a user's notices about the API keys of a workspace's service accounts, for a user who no longer manages them.
 * Those that have not been emailed yet are not emailed.
 */
export async function deleteServiceAccountNotices(
  trx: Trx,
  userId: UserId,
  workspaceId: WorkspaceId,
): Promise<void> {
  await trx
    .deleteFrom("notices")
    .where("user_id", "=", userId)
    .where(sql<boolean>`facts -> 'serviceAccount' is not null`)
    .where(sql<boolean>`facts ->> 'workspaceId' = ${workspaceId}`)
    .execute();
}

/**
 * Deletes the notice of an invitation. It belongs to the user of the email address, or to nobody. A user whose email address has
 * changed since keeps it. A notice that the user is marking as read is left, because waiting for it could deadlock.
 */
export async function deleteInvitationNotice(
  trx: Trx,
  { id, email }: { readonly id: InvitationId; readonly email: string },
): Promise<void> {
  await sql`
    delete from notices where id in (
      select notices.id from notices join users on users.id = notices.user_id
      where users.email = ${email} and kind = 'invitation' and subject = ${id}
      for update of notices skip locked
    )`.execute(trx);
}
