import { addJob } from "@latchkey/db/add-job";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";

/** Adds the job that emails a verification link to a user. A newer job of the same user replaces one that hasn't run. */
export async function addVerificationJob(trx: Trx, userId: UserId): Promise<void> {
  await addJob(trx, "send-verification-link", { userId }, { key: `verification ${userId}`, maxAttempts: 8 });
}
