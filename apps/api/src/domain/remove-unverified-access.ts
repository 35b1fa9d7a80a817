import { deleteAllApiKeys } from "@latchkey/db/api-key-changes";
import type { Origin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { forgetDevices } from "@latchkey/db/known-devices";
import type { Trx } from "@latchkey/db/schema";
import { deleteSecondFactors, hasSecondFactor } from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { replaceOrigins } from "@latchkey/db/sign-in-origins";
import { deleteVerifications } from "@latchkey/db/verifications";
import { recordDeletionOfKeys } from "./key-events.ts";
import { removeAllIdentities } from "./remove-identities.ts";

/**
 * Deletes everything except the password and the sessions that gives access to an account whose email address nobody has
 * verified, and the devices known for it: somebody else can have registered it in advance, with access that outlives a new password
 * (docs/decisions/0052). The user must be locked. Call it last in the transaction, because admission waits for the rows that it
 * locks.
 */
export async function removeUnverifiedAccess(trx: Trx, userId: UserId, origin: Origin): Promise<void> {
  await deleteVerifications(trx, { purpose: "email-change", subject: userId });
  if (await hasSecondFactor(trx, userId))
    await appendSecurityEvent(trx, origin, { userId, action: "second-factors.reset" });
  await deleteSecondFactors(trx, userId); // A second factor that isn't confirmed, and recovery codes, too.
  await removeAllIdentities(trx, userId, origin);
  // Otherwise, the other person's device would still be known: its guesses would have a budget of their own, and a sign-in from it
  // would not be notified.
  await replaceOrigins(trx, userId, []);
  await forgetDevices(trx, userId);
  const keys = await deleteAllApiKeys(trx, userId);
  await recordDeletionOfKeys(trx, { userId, origin }, keys);
  await bumpKeyVersions(trx, { keyIds: keys.map(({ id }) => id) });
}
