import { createHash } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { consumeFromBucket } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";

/** How many changes to their own account a user can make per hour. */
const maxAccountChanges = 100;

/**
 * Counts a change that a user makes to their own account, and rejects those beyond the hourly quota. Each adds an event to the
 * security log, which is never purged, so without a limit one user could fill the database. Removing a second factor and ending a
 * session aren't counted: both must always be possible, and need an earlier addition or sign-in.
 *
 * The user must be locked.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`. Nothing is counted, because the transaction is rolled back.
 */
export async function consumeAccountChangeQuota(trx: Trx, userId: UserId): Promise<void> {
  const digest = createHash("sha256").update(`account changes of ${userId}`).digest();
  const bucket = { digest, capacity: maxAccountChanges, refillSeconds: 3_600 / maxAccountChanges };
  const retryAfterSeconds = Math.ceil(await consumeFromBucket(trx, bucket));
  if (retryAfterSeconds === 0) return;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  throw new AppError("TOO_MANY_REQUESTS", {
    message: `You have made ${maxAccountChanges} changes to your account within an hour, which is the limit. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`,
    retryAfterSeconds,
  });
}
