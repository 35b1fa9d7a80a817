import { createHmac } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { deriveKey, SealedSecrets } from "./sealed-secrets.ts";

/**
 * Protects what second factors store with keys that are derived from `AUTH_SECRET`, so that a copy of the database
 * alone doesn't reveal them.
 */
export class FactorSecrets {
  readonly #totpSecrets: SealedSecrets;
  readonly #digestKey: Buffer;

  /** @param secret `AUTH_SECRET` */
  constructor(secret: string) {
    this.#totpSecrets = new SealedSecrets(secret, "totp secrets");
    this.#digestKey = deriveKey(secret, "recovery codes");
  }

  /** Encrypts the secret of a user's authenticator app. It can't be decrypted for another user. */
  encrypt(userId: UserId, secret: string): Buffer {
    return this.#totpSecrets.seal(userId, secret);
  }

  /** @throws {AppError} CONFLICT if the secret was encrypted under another `AUTH_SECRET`. */
  decrypt(userId: UserId, sealed: Buffer): string {
    try {
      return this.#totpSecrets.open(userId, sealed);
    } catch (cause) {
      const message =
        "This instance can no longer check the codes of your authenticator app. Ask its operator to reset your second factors.";
      throw new AppError("CONFLICT", { message, cause });
    }
  }

  /**
   * The digest by which a recovery code is found. A fast digest is sufficient, because a code has 60 random bits and the
   * digest is keyed.
   * @param code from `parseRecoveryCode`.
   */
  digestRecoveryCode(userId: UserId, code: string): Buffer {
    return createHmac("sha256", this.#digestKey).update(`${userId} ${code}`).digest();
  }
}
