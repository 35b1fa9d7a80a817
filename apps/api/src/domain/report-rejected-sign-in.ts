import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import { consumeFromBuckets, hourlyBucket } from "@latchkey/db/throttle-buckets";
import type { Services } from "./services.ts";
import { requestOriginOf, type Visitor } from "./sign-in-attempts.ts";

/** How many rejected sign-ins without a password are logged one by one per user and hour. */
const maxLoggedRejections = 100;

/**
 * Logs that a sign-in without a password was rejected, also in the security log of the user. Anyone can send any number of responses
 * from many networks, and the security log is never purged, so rejections of unknown users, and those beyond an hourly number of one
 * user, are only counted.
 * @param rejection.userId undefined if the user is unknown.
 */
export async function reportRejectedSignIn(
  { db, report }: Pick<Services, "db" | "report">,
  { reason, userId }: { readonly reason: "passkey" | "openid"; readonly userId: UserId | undefined },
  visitor: Visitor,
): Promise<void> {
  const { address, requestId } = visitor;
  if (userId === undefined || !(await isLoggedOneByOne(db, userId)))
    return report({ kind: "sign-in-rejected", address, requestId });
  report({ kind: "sign-in-failed", reason, userId, address, requestId });
  const origin = {
    actor: { kind: "session", userId, isRecentlyAuthenticated: false },
    ...requestOriginOf(visitor),
  } as const;
  const event = { userId, action: "sign-in.failed" } as const;
  const append = db.transaction().execute((trx) => appendSecurityEvent(trx, origin, event));
  await append.catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error; // The user was deleted concurrently.
  });
}

async function isLoggedOneByOne(db: Db, userId: UserId): Promise<boolean> {
  const bucket = hourlyBucket(`rejected sign-ins of ${userId}`, maxLoggedRejections);
  return (await consumeFromBuckets(db, [bucket])) <= 0;
}
