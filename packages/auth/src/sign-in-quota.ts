import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { consumeFromBuckets, hourlyBucket, readWaitSeconds } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";

/** How many times a user can sign in per hour. */
const maxSignIns = 100;

const bucketOf = (userId: UserId) => hourlyBucket(`sign-ins of ${userId}`, maxSignIns);

/**
 * Counts a successful sign-in, and rejects those beyond the user's hourly quota. Each adds an event to the security log, which is
 * never purged, so without a limit one user could fill the database. Call it only after every credential was checked. Otherwise,
 * someone else could use up the quota. Fails closed: while the database is unavailable, all sign-ins fail.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
 */
export async function consumeSignInQuota(db: Db, userId: UserId): Promise<void> {
  requireToken(await consumeFromBuckets(db, [bucketOf(userId)]));
}

/**
 * Rejects a sign-in that {@link consumeSignInQuota} would reject now, before a credential that works once is used up. Of two
 * concurrent sign-ins for one token, both pass, and the credential of the later one is used up.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
 */
export async function requireSignInQuota(db: Db, userId: UserId): Promise<void> {
  requireToken(await readWaitSeconds(db, [bucketOf(userId)]));
}

function requireToken(waitSeconds: number): void {
  if (waitSeconds <= 0) return;
  throw new AppError("TOO_MANY_REQUESTS", {
    message: `You have reached the limit of ${maxSignIns} sign-ins per hour. Try again in a minute.`,
    retryAfterSeconds: Math.ceil(waitSeconds),
  });
}
