import type { SessionUser } from "@latchkey/auth/sessions";
import type { Origin } from "@latchkey/db/audit-actions";
import {
  deleteIdentity,
  findIdentity,
  findIdentityUser,
  type Identity,
  insertIdentity,
} from "@latchkey/db/identities";
import type { UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions, recordAuthentication } from "@latchkey/db/sessions";
import { findPasswordHash } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount, missingCode } from "./account.ts";
import { consumeIdentityLinkQuota } from "./account-change-quota.ts";
import { checkCode } from "./factor-codes.ts";
import { completeOpenid } from "./openid-attempts.ts";
import { type OpenidClaims, type OpenidResponse, requireOpenid } from "./openid-provider.ts";
import { endPendingSignIns } from "./pending-sign-in.ts";
import { removeAllIdentities } from "./remove-identities.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";
import type { Visitor } from "./sign-in-attempts.ts";

/** The identity at the OpenID provider that a user has linked to their account. */

type OpenidServices = Pick<Services, "openid" | "report" | "signInThrottle" | "factorSecrets">;

/** A signed-in user, who reads and changes within their limits. */
interface SignedIn {
  readonly user: SessionUser;
  readonly edit: AccountEdit;
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/** Reads the email address of the claims, and validates it like form input; null without a valid one. */
export type ReadEmail = (claims: OpenidClaims) => string | null;

interface Attempt {
  readonly token: string | undefined;
  readonly response: OpenidResponse;
}

/** How a user can sign in, besides passkeys. */
export interface SignInMethods {
  readonly hasPassword: boolean;
  /** Null if the instance has no provider. */
  readonly openid: { readonly name: string; readonly identity: Identity | null } | null;
}

export async function findSignInMethods(
  db: Db,
  { openid }: Pick<Services, "openid">,
  userId: UserId,
): Promise<SignInMethods> {
  const hasPassword = (await findPasswordHash(db, userId)) !== undefined;
  if (!openid) return { hasPassword, openid: null };
  const identity = (await findIdentity(db, userId, openid.issuer)) ?? null;
  return { hasPassword, openid: { name: openid.name, identity } };
}

/**
 * Links an identity to the signed-in user, even if its email address is different.
 * @throws {AppError} CONFLICT if it is linked to another account, or the user has linked another one; FORBIDDEN without
 *   a recent authentication; TOO_MANY_REQUESTS after too many links; as {@link completeOpenid}.
 */
export async function linkIdentity(
  services: OpenidServices,
  { edit, read, transact }: SignedIn,
  attempt: Attempt & { readonly readEmail: ReadEmail },
  visitor: Visitor,
): Promise<void> {
  const { userId, sessionId, origin } = edit;
  requireRecentAuthentication(origin);
  const { name } = requireOpenid(services);
  const use = { kind: "link", sessionId } as const;
  const claims = await completeOpenid({ ...services, read, transact }, use, attempt, visitor);
  await transact(async (trx) => {
    await lockAccount(trx, edit);
    if (!(await insertIdentity(trx, userId, { ...claims, email: attempt.readEmail(claims) }))) {
      const isOwn = (await findIdentityUser(trx, claims)) === userId;
      if (isOwn) return;
      const message = `Can’t link this identity at ${name}. Either another account uses it, or your account is linked to another identity; unlink the other identity first.`;
      throw new AppError("CONFLICT", { message });
    }
    await consumeIdentityLinkQuota(trx, userId);
    await appendSecurityEvent(trx, origin, { userId, action: "identity.linked", after: { provider: name } });
  });
}

/**
 * Unlinks the identity of the signed-in user, and ends their other sessions and pending sign-ins, which someone else with the
 * identity may have opened. Rejected for a user without a password, who could no longer sign in; a
 * passkey isn't enough, because it can be lost.
 * @throws {AppError} CONFLICT without a password; NOT_FOUND without an identity; FORBIDDEN without recent authentication.
 */
export async function unlinkIdentity(
  trx: Trx,
  services: Pick<Services, "openid">,
  edit: AccountEdit,
): Promise<void> {
  const { userId, origin } = edit;
  const { name, issuer } = requireOpenid(services);
  requireRecentAuthentication(origin);
  await lockAccount(trx, edit);
  if ((await findPasswordHash(trx, userId)) === undefined) {
    const message = `You have no password, so you couldn’t sign in without ${name}. Set a password first.`;
    throw new AppError("CONFLICT", { message });
  }
  if (!(await deleteIdentity(trx, userId, issuer))) {
    throw new AppError("NOT_FOUND", { message: `Your account is not linked to ${name}.` });
  }
  await endSessions(trx, userId, { except: edit.sessionId });
  await endPendingSignIns(trx, userId);
  await appendSecurityEvent(trx, origin, { userId, action: "identity.unlinked", before: { provider: name } });
}

/**
 * Unlinks a user from all identities and ends all of their sessions, for the operator, even if the user then can't sign in
 * without a password reset link.
 * @throws {AppError} NOT_FOUND without an identity.
 */
export async function unlinkIdentities(trx: Trx, userId: UserId, origin: Origin): Promise<void> {
  await lockUsers(trx, [userId]);
  if ((await removeAllIdentities(trx, userId, origin)) === 0)
    throw new AppError("NOT_FOUND", { message: "The account is not linked to an identity." });
  await endSessions(trx, userId, "all");
}

/**
 * Lets the session make sensitive changes for 15 minutes, after its user has authenticated at the provider again and, if the
 * user has a second factor, entered a code.
 * @throws {AppError} BAD_REQUEST with an issue for `code` if it is wrong or missing, which leaves the attempt open only if it
 *   is missing; FORBIDDEN for an identity of another user; as {@link completeOpenid}.
 */
export async function confirmWithOpenid(
  services: OpenidServices,
  { user, edit, read, transact }: SignedIn,
  { factorCode: code, ...attempt }: Attempt & { readonly factorCode: string | undefined },
  visitor: Visitor,
): Promise<void> {
  const { sessionId } = edit;
  const { name } = requireOpenid(services);
  const hasFactor = await read((db) => hasSecondFactor(db, user.id));
  if (hasFactor && code === undefined) throw missingCode();
  const use = { kind: "confirmation", sessionId } as const;
  const claims = await completeOpenid({ ...services, read, transact }, use, attempt, visitor);
  const confirm = async (trx: Trx) => {
    await lockAccount(trx, edit);
    if ((await findIdentityUser(trx, claims)) !== user.id) {
      const message = `You signed in with an identity at ${name} that isn’t linked to your account.`;
      throw new AppError("FORBIDDEN", { message });
    }
    await recordAuthentication(trx, sessionId);
  };
  if (hasFactor && code !== undefined) await checkCode(services, { user, code, transact }, visitor, confirm);
  else await transact(confirm);
}
