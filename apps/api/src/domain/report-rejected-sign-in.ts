import type { UserId } from "@latchkey/db/ids";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import type { Services } from "./services.ts";
import { requestOriginOf, type Visitor } from "./sign-in-attempts.ts";

/**
 * Logs that a sign-in without a password was rejected, also in the security log of the user.
 * @param rejection.userId undefined if the user is unknown.
 */
export async function reportRejectedSignIn(
  { db, report }: Pick<Services, "db" | "report">,
  { reason, userId }: { readonly reason: "passkey" | "openid"; readonly userId: UserId | undefined },
  visitor: Visitor,
): Promise<void> {
  const { address, requestId } = visitor;
  report({ kind: "sign-in-failed", reason, userId, address, requestId });
  if (userId === undefined) return;
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
