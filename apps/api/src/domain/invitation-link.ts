import { invitationSubject } from "@latchkey/auth/workspace-access";
import type { InvitationId } from "@latchkey/db/ids";
import { deleteVerifications, insertVerification } from "@latchkey/db/verifications";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { createLinkToken, digestLinkToken } from "./link-token.ts";

/** How long an invitation is valid, in seconds: seven days. */
export const invitationLifetimeSeconds = 604_800;

/** The purpose of the verifications that hold the digests of invitation links. */
export const invitationPurpose = "invitation";

/** Replaces the link of an invitation. The token is in the URL's fragment, which browsers don't send to servers. */
export async function replaceInvitationLink(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
  baseUrl: string,
): Promise<string> {
  const subject = invitationSubject(scope, id);
  const token = createLinkToken();
  await deleteVerifications(trx, { purpose: invitationPurpose, subject });
  const name = { purpose: invitationPurpose, digest: digestLinkToken(token) } as const;
  await insertVerification(trx, name, { subject, lifetimeSeconds: invitationLifetimeSeconds });
  return `${baseUrl}/invitation#${token}`;
}

/** The digest of the token in a link. */
export function digestLink(url: string): Buffer {
  return digestLinkToken(url.slice(url.indexOf("#") + 1));
}
