import type { FactorSecrets } from "@latchkey/auth/factor-secrets";
import { parseRecoveryCode } from "@latchkey/auth/recovery-codes";
import { findTotpStep, parseTotpCode } from "@latchkey/auth/totp";
import type { UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Trx } from "@latchkey/db/schema";
import { consumeRecoveryCode, consumeTotpStep, findTotp } from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { isForeignKeyViolation } from "@latchkey/db/sqlstate";
import { AppError } from "@latchkey/errors";
import type { Services } from "./services.ts";
import { consumeCodeAttempt, refundUnchecked, requestOriginOf, type Visitor } from "./sign-in-attempts.ts";
import { signInRequired } from "./sign-in-required.ts";

type CodeKind = "totp" | "recovery-code";

export interface CodeCheck {
  readonly user: { readonly id: UserId; readonly email: string };
  /** As the user typed it: a code of the authenticator app, or a recovery code. */
  readonly code: string;
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/**
 * Checks and uses up a code, in the same transaction as `complete`. A wrong code is recorded in the security log of
 * the user.
 * @throws {AppError} BAD_REQUEST with an issue for `code` if it is wrong or was used before; TOO_MANY_REQUESTS after too
 *   many wrong ones; UNAUTHORIZED if the user was just deleted; what `complete` throws, and the code then stays valid.
 */
export async function checkCode(
  services: Pick<Services, "report" | "signInThrottle" | "factorSecrets">,
  { user, code, transact }: CodeCheck,
  visitor: Visitor,
  complete: (trx: Trx, kind: CodeKind) => Promise<void>,
): Promise<CodeKind> {
  const { address, requestId } = visitor;
  const actor = { kind: "session", userId: user.id, isRecentlyAuthenticated: false } as const;
  const origin = { actor, ...requestOriginOf(visitor) };
  const attempt = await consumeCodeAttempt(services, user.email, visitor);
  const check = async (trx: Trx) => {
    // Every change of factors locks the user first.
    await lockUsers(trx, [user.id]);
    const kind = await consumeCode(trx, services.factorSecrets, { userId: user.id, code });
    if (kind === "recovery-code")
      await appendSecurityEvent(trx, origin, { userId: user.id, action: "recovery-code.used" });
    if (kind) await complete(trx, kind);
    return kind;
  };
  // A wrong code doesn't throw here, so an attempt is refunded only if the check itself failed.
  const kind = await transact(check).catch(async (error: unknown) => {
    await refundUnchecked(attempt);
    throw error;
  });
  if (kind) {
    await attempt.refund();
    return kind;
  }
  const event = { userId: user.id, action: "second-factor.failed" } as const;
  await transact((trx) => appendSecurityEvent(trx, origin, event)).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? signInRequired() : error; // The user was deleted concurrently.
  });
  services.report({ kind: "second-factor-failed", userId: user.id, address, requestId });
  throw wrongCode();
}

/** @param advice what the user can do. */
export function wrongCode(advice = "Enter a new one."): AppError {
  const message = `This code is wrong, has expired, or was already used. ${advice}`;
  return new AppError("BAD_REQUEST", { issues: [{ path: "code", code: "invalid_value", message }] });
}

/** Uses up a code if it is one of the user's. */
async function consumeCode(
  trx: Trx,
  secrets: FactorSecrets,
  { userId, code }: { readonly userId: UserId; readonly code: string },
): Promise<CodeKind | undefined> {
  const totpCode = parseTotpCode(code);
  if (totpCode !== undefined) {
    const totp = await findTotp(trx, userId);
    if (!totp?.confirmedAt) return undefined;
    const step = findTotpStep(secrets.decrypt(userId, totp.secret), totpCode, totp.nowSeconds);
    return step !== undefined && (await consumeTotpStep(trx, userId, step)) ? "totp" : undefined;
  }
  const recoveryCode = parseRecoveryCode(code);
  if (recoveryCode === undefined) return undefined;
  const digest = secrets.digestRecoveryCode(userId, recoveryCode);
  return (await consumeRecoveryCode(trx, userId, digest)) ? "recovery-code" : undefined;
}
