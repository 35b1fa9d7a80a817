import { createHash } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { consumeFromBuckets } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";

/** How many times a user can sign in per hour. */
const maxSignIns = 100;

/**
 * Counts a successful sign-in, and rejects those beyond the user's hourly quota. Each adds an event to the security log, which is
 * never purged, so without a limit one user could fill the database. Call it only after every credential was checked. Otherwise,
 * someone else could use up the quota.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
 */
export async function consumeSignInQuota(db: Db, userId: UserId): Promise<void> {
  const digest = createHash("sha256").update(`sign-ins of ${userId}`).digest();
  const bucket = { digest, capacity: maxSignIns, refillSeconds: 3_600 / maxSignIns };
  const retryAfterSeconds = Math.ceil(await consumeFromBuckets(db, [bucket]));
  if (retryAfterSeconds <= 0) return;
  throw new AppError("TOO_MANY_REQUESTS", {
    message: `You have reached the limit of ${maxSignIns} sign-ins per hour. Try again in a minute.`,
    retryAfterSeconds,
  });
}
