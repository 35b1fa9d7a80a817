import type { Origin } from "@latchkey/db/audit-actions";
import { deleteAllIdentities } from "@latchkey/db/identities";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endPendingSignIns } from "./pending-sign-in.ts";

/** Unlinks all identities of a locked user, with an event each, and ends pending sign-ins. Returns how many there were. */
export async function removeAllIdentities(trx: Trx, userId: UserId, origin: Origin): Promise<number> {
  const identities = await deleteAllIdentities(trx, userId);
  await endPendingSignIns(trx, userId);
  for (const { issuer } of identities) {
    const before = { provider: new URL(issuer).host };
    await appendSecurityEvent(trx, origin, { userId, action: "identity.unlinked", before });
  }
  return identities.length;
}
