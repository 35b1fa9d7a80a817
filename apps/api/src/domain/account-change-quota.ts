import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { consumeFromBucket, hourlyBucket } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";

/** The tokens of each quota below, per user and hour. */
const maxChanges = 100;

/**
 * Counts a change that a user makes to their own account, and rejects those beyond the hourly quota. Each adds an event to the
 * security log, which is never purged, so without a limit one user could fill the database. Removing a second factor, unlinking an
 * identity and ending a session aren't counted: they must always be possible, and need an earlier addition, link or sign-in.
 *
 * The user must be locked.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`. Nothing is counted, because the transaction is rolled back.
 */
export async function consumeAccountChangeQuota(trx: Trx, userId: UserId): Promise<void> {
  await consumeQuota(trx, `account changes of ${userId}`, "account changes");
}

/**
 * Counts a change of the password, as {@link consumeAccountChangeQuota}. It has a quota of its own. Otherwise, someone with a stolen
 * session, who doesn't know the password, could keep the user from changing it.
 */
export async function consumePasswordChangeQuota(trx: Trx, userId: UserId): Promise<void> {
  await consumeQuota(trx, `password changes of ${userId}`, "password changes");
}

/**
 * Counts a link to an identity at the OpenID provider, as {@link consumeAccountChangeQuota}. It has a quota of its own. Otherwise,
 * someone with a stolen session could keep the user from signing in with OpenID for the first time, which links by email address.
 */
export async function consumeIdentityLinkQuota(trx: Trx, userId: UserId): Promise<void> {
  await consumeQuota(trx, `identity links of ${userId}`, "links to identities");
}

/** @param changes what is counted, for the message. */
async function consumeQuota(trx: Trx, name: string, changes: string): Promise<void> {
  const retryAfterSeconds = Math.ceil(await consumeFromBucket(trx, hourlyBucket(name, maxChanges)));
  if (retryAfterSeconds === 0) return;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  throw new AppError("TOO_MANY_REQUESTS", {
    message: `You have reached the limit of ${maxChanges} ${changes} per hour. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`,
    retryAfterSeconds,
  });
}
