import { createRecoveryCodes } from "@latchkey/auth/recovery-codes";
import { createTotpSecret, findTotpStep, parseTotpCode, totpUrl } from "@latchkey/auth/totp";
import type { Origin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import { listPasskeys, type Passkey } from "@latchkey/db/passkeys";
import type { Db, Trx } from "@latchkey/db/schema";
import {
  confirmTotp,
  countRecoveryCodes,
  deleteSecondFactors,
  deleteTotp,
  findTotp,
  hasSecondFactor,
  replaceRecoveryCodes,
  replaceUnconfirmedTotp,
} from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions, recordSecondFactor } from "@latchkey/db/sessions";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount } from "./account.ts";
import { consumeAccountChangeQuota } from "./account-change-quota.ts";
import { getAccount, type UserReference } from "./accounts.ts";
import { wrongCode } from "./factor-codes.ts";
import { endPendingSignIns } from "./pending-sign-in.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";

/** Changes to a user's own second factors. Every one of them requires recent authentication. */

type FactorServices = Pick<Services, "factorSecrets" | "baseUrl">;

/**
 * Creates the secret of an authenticator app, which has no effect until {@link enableTotp}. Replaces an earlier secret
 * that was not enabled.
 * @throws {AppError} FORBIDDEN without recent authentication; CONFLICT if the user has an authenticator app.
 */
export async function createTotp(
  trx: Trx,
  { factorSecrets, baseUrl }: FactorServices,
  { email, ...edit }: AccountEdit & { readonly email: string },
): Promise<{ readonly secret: string; readonly url: string }> {
  requireRecentAuthentication(edit.origin);
  await lockAccount(trx, edit);
  const secret = createTotpSecret();
  if (!(await replaceUnconfirmedTotp(trx, edit.userId, factorSecrets.encrypt(edit.userId, secret)))) {
    throw new AppError("CONFLICT", { message: "You already use an authenticator app. Remove it first." });
  }
  const issuer = `Latchkey ${new URL(baseUrl).hostname}`;
  return { secret, url: totpUrl(secret, { issuer, account: email }) };
}

/**
 * Enables an authenticator app with its first code, which can't be used again. All other sessions end, because they
 * were opened without it.
 * @returns recovery codes, if this is the user's first second factor.
 * @throws {AppError} FORBIDDEN without recent authentication; BAD_REQUEST with an issue for a wrong code, including a
 *   code of a replaced secret; CONFLICT if no setup is pending; TOO_MANY_REQUESTS.
 */
export async function enableTotp(
  trx: Trx,
  { factorSecrets }: FactorServices,
  edit: AccountEdit,
  code: string,
): Promise<readonly string[] | undefined> {
  const { userId, origin } = edit;
  requireRecentAuthentication(origin);
  await lockAccount(trx, edit);
  const totp = await findTotp(trx, userId);
  if (totp?.confirmedAt) {
    // The response to an earlier request may have been lost, with the recovery codes.
    const message =
      "Your authenticator app is already set up. If you have no recovery codes, create new ones.";
    throw new AppError("CONFLICT", { message });
  }
  if (!totp) throw new AppError("CONFLICT", { message: "This setup is no longer valid. Start again." });
  const parsed = parseTotpCode(code);
  const secret = factorSecrets.decrypt(userId, totp.secret);
  const step = parsed === undefined ? undefined : findTotpStep(secret, parsed, totp.nowSeconds);
  if (step === undefined)
    throw wrongCode("Enter a new one, or start over if you have opened the setup in another tab.");
  await consumeAccountChangeQuota(trx, userId);
  await confirmTotp(trx, userId, { secret: totp.secret, step });
  await appendSecurityEvent(trx, origin, { userId, action: "totp.enabled" });
  return await completeAddition(trx, { factorSecrets }, edit);
}

/**
 * Completes the addition of a factor: ends the sessions and pending sign-ins that lack it, and creates recovery codes with the
 * first one.
 */
export async function completeAddition(
  trx: Trx,
  services: Pick<Services, "factorSecrets">,
  edit: AccountEdit,
): Promise<readonly string[] | undefined> {
  const { userId, sessionId } = edit;
  await recordSecondFactor(trx, sessionId);
  await endSessions(trx, userId, { except: sessionId });
  await endPendingSignIns(trx, userId);
  if ((await countRecoveryCodes(trx, userId)) > 0) return undefined;
  return await storeRecoveryCodes(trx, services, edit);
}

/**
 * Removes the authenticator app. All other sessions end. Without another factor, the recovery codes are deleted too.
 * @throws {AppError} FORBIDDEN without recent authentication; NOT_FOUND
 */
export async function disableTotp(trx: Trx, edit: AccountEdit): Promise<void> {
  const { userId, origin } = edit;
  requireRecentAuthentication(origin);
  await lockAccount(trx, edit);
  if (!(await deleteTotp(trx, userId))) {
    throw new AppError("NOT_FOUND", { message: "You don't use an authenticator app." });
  }
  await appendSecurityEvent(trx, origin, { userId, action: "totp.disabled" });
  await completeRemoval(trx, edit);
}

/**
 * Completes the removal of a factor: deletes the recovery codes with the last one, and ends the other sessions and pending
 * sign-ins.
 */
export async function completeRemoval(trx: Trx, { userId, sessionId }: AccountEdit): Promise<void> {
  if (!(await hasSecondFactor(trx, userId))) await replaceRecoveryCodes(trx, userId, []);
  await endSessions(trx, userId, { except: sessionId });
  await endPendingSignIns(trx, userId);
}

/**
 * Replaces the recovery codes.
 * @throws {AppError} FORBIDDEN without recent authentication; CONFLICT without a second factor; TOO_MANY_REQUESTS.
 */
export async function createNewRecoveryCodes(
  trx: Trx,
  services: Pick<Services, "factorSecrets">,
  edit: AccountEdit,
): Promise<readonly string[]> {
  requireRecentAuthentication(edit.origin);
  await lockAccount(trx, edit);
  if (!(await hasSecondFactor(trx, edit.userId))) {
    throw new AppError("CONFLICT", { message: "Recovery codes need a second factor. Set one up first." });
  }
  await consumeAccountChangeQuota(trx, edit.userId);
  return await storeRecoveryCodes(trx, services, edit);
}

async function storeRecoveryCodes(
  trx: Trx,
  { factorSecrets }: Pick<Services, "factorSecrets">,
  { userId, origin }: AccountEdit,
): Promise<readonly string[]> {
  const codes = createRecoveryCodes();
  const digests = codes.map((code) => factorSecrets.digestRecoveryCode(userId, code.replaceAll("-", "")));
  await replaceRecoveryCodes(trx, userId, digests);
  await appendSecurityEvent(trx, origin, { userId, action: "recovery-codes.created" });
  return codes;
}

/**
 * Removes all second factors of a user who has lost them, for the operator. All sessions end. The password stays.
 * @throws {AppError} NOT_FOUND
 */
export async function resetSecondFactors(db: Db, user: UserReference, origin: Origin): Promise<UserId> {
  const { id: userId } = await getAccount(db, user);
  await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    await getAccount(trx, { id: userId }); // The user may have been deleted since they were found.
    await deleteSecondFactors(trx, userId);
    await endSessions(trx, userId, "all");
    await endPendingSignIns(trx, userId);
    await appendSecurityEvent(trx, origin, { userId, action: "second-factors.reset" });
  });
  return userId;
}

/** The second factors of a user, as the security page shows them. */
export interface SecondFactors {
  /** When the authenticator app was set up; null without one. */
  readonly totpSince: Date | null;
  readonly recoveryCodeCount: number;
  readonly passkeys: readonly Passkey[];
}

export async function findSecondFactors(db: Db, userId: UserId): Promise<SecondFactors> {
  const totp = await findTotp(db, userId);
  return {
    totpSince: totp?.confirmedAt ?? null,
    recoveryCodeCount: await countRecoveryCodes(db, userId),
    passkeys: await listPasskeys(db, userId),
  };
}
