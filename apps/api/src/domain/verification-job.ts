import { addJob } from "@latchkey/db/add-job";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import type { Services } from "./services.ts";

/** Adds the job that emails a verification link to a user. A newer job of the same user replaces one that hasn't run. */
export async function addVerificationJob(trx: Trx, userId: UserId): Promise<void> {
  await addJob(trx, "send-verification-link", { userId }, { key: `verification ${userId}`, maxAttempts: 8 });
}

/**
 * Adds the job for a new account, unless the instance sends no email or too many verification links were sent to the email address.
 * The user can request one later.
 */
export async function addSignUpVerificationJob(
  trx: Trx,
  { sendsEmail, signInThrottle }: Pick<Services, "sendsEmail" | "signInThrottle">,
  { userId, email }: { readonly userId: UserId; readonly email: string },
): Promise<void> {
  if (sendsEmail && (await signInThrottle.consumeSignUpLink(trx, email)))
    await addVerificationJob(trx, userId);
}
