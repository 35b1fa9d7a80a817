import { lockUserAgainstDeletion } from "@latchkey/db/members";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions } from "@latchkey/db/sessions";
import type { Services } from "./services.ts";
import { requestOriginOf, type Visitor } from "./sign-in-attempts.ts";

/**
 * Ends the session of a request, if it has one, and records it.
 * @returns the `Set-Cookie` values that clear the cookie.
 */
export async function signOut({ db, sessions }: Services, visitor: Visitor): Promise<string[]> {
  const session = await sessions.find(visitor);
  if (session) {
    const { id, user, isRecentlyAuthenticated } = session;
    const userId = user.id;
    const actor = { kind: "session", userId, sessionId: id, isRecentlyAuthenticated } as const;
    await db.transaction().execute(async (trx) => {
      // Takes only the lock against deletion. With the full lock on the user, a sign-out would wait behind changes that
      // wait for that lock themselves, and those changes would still find the session.
      await lockUserAgainstDeletion(trx, userId);
      if ((await endSessions(trx, userId, { id })) === 0) return; // It ended concurrently.
      const origin = { actor, ...requestOriginOf(visitor) };
      await appendSecurityEvent(trx, origin, { userId, action: "session.signed-out" });
    });
  }
  return await sessions.signOut(visitor.headers);
}
