import type { Origin } from "@latchkey/db/audit-actions";
import { AppError } from "@latchkey/errors";

/**
 * Checks that a person who makes a sensitive change in the web app has authenticated recently, so that someone
 * who finds an unlocked computer can't make it. API keys and the command aren't affected.
 * @throws {AppError} FORBIDDEN with an issue `reauthentication_required`. The web app then asks for
 *   the password or for a sign-in with the OpenID provider and, if the user has one, for the second factor.
 */
export function requireRecentAuthentication({ actor }: Origin): void {
  if (actor.kind !== "session" || actor.isRecentlyAuthenticated) return;
  const message = "Confirm that it’s you to continue.";
  throw new AppError("FORBIDDEN", {
    message,
    issues: [{ path: "", code: "reauthentication_required", message }],
  });
}
