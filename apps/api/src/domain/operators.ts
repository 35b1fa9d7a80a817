import { isUserActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import { lockUsers } from "@latchkey/db/members";
import { hasOtherOperator, isOperator, listOperatorIds, setOperator } from "@latchkey/db/operators";
import type { Trx } from "@latchkey/db/schema";
import { isSessionLive } from "@latchkey/db/sessions";
import { AppError } from "@latchkey/errors";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { signInRequired } from "./sign-in-required.ts";

/**
 * Locks users whom an operator changes together with all operators, so that two concurrent changes can't leave the
 * instance without an operator. Under the lock, checks that a person who makes the change is still an operator and
 * signed in.
 * @throws {AppError} FORBIDDEN; UNAUTHORIZED if the session has ended.
 */
export async function lockWithOperators(
  trx: Trx,
  userIds: readonly UserId[],
  { actor }: Pick<Origin, "actor">,
): Promise<void> {
  await lockUsers(trx, [...userIds, ...(await listOperatorIds(trx))]);
  if (actor.kind === "command") return;
  if (!(await isOperator(trx, actor.userId))) throw new AppError("FORBIDDEN");
  // Not locked: the change can end this session together with others, which could deadlock.
  const sessionId = actor.kind === "session" ? actor.sessionId : undefined;
  if (sessionId && !(await isSessionLive(trx, sessionId))) throw signInRequired();
}

/**
 * Checks that another operator can sign in if this user is an operator. Call {@link lockWithOperators} first.
 * @throws {AppError} CONFLICT
 */
export async function requireOtherOperator(trx: Trx, id: UserId): Promise<void> {
  if (!(await isOperator(trx, id)) || (await hasOtherOperator(trx, id))) return;
  const message =
    "This user is the only operator who can sign in. Grant the operator role to another user first.";
  throw new AppError("CONFLICT", { message });
}

/**
 * Makes a user an operator. Can be repeated.
 * @throws {AppError} CONFLICT for a disabled user; FORBIDDEN without recent authentication.
 */
export async function grantOperator(trx: Trx, id: UserId, origin: Origin): Promise<void> {
  requireRecentAuthentication(origin);
  await lockWithOperators(trx, [id], origin);
  if (!(await isUserActing(trx, id))) {
    throw new AppError("CONFLICT", { message: "This user is disabled. Enable the user first." });
  }
  if (!(await setOperator(trx, id, true))) return;
  await appendInstanceEvent(trx, origin, { action: "operator.granted", userId: id });
}

/**
 * Revokes the operator role of a user. Can be repeated.
 * @throws {AppError} CONFLICT for the only operator who can sign in.
 */
export async function revokeOperator(trx: Trx, id: UserId, origin: Origin): Promise<void> {
  await lockWithOperators(trx, [id], origin);
  await requireOtherOperator(trx, id);
  if (!(await setOperator(trx, id, false))) return;
  await appendInstanceEvent(trx, origin, { action: "operator.revoked", userId: id });
}
