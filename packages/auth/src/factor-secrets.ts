import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Protects what second factors store with keys that are derived from `AUTH_SECRET`, so that a copy of the database alone
 * is worth nothing.
 */
export class FactorSecrets {
  readonly #encryptionKey: Buffer;
  readonly #digestKey: Buffer;

  /** @param secret `AUTH_SECRET` */
  constructor(secret: string) {
    // Separate keys per purpose, none of which equals a key that is derived from the secret elsewhere.
    const derive = (purpose: string) =>
      Buffer.from(hkdfSync("sha256", secret, "", `latchkey ${purpose}`, 32));
    this.#encryptionKey = derive("totp secrets");
    this.#digestKey = derive("recovery codes");
  }

  /** Encrypts the secret of a user's authenticator app: nonce, ciphertext, tag. It can't be decrypted for another user. */
  encrypt(userId: UserId, secret: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const encryption = createCipheriv(cipher, this.#encryptionKey, nonce).setAAD(Buffer.from(userId));
    const encrypted = Buffer.concat([encryption.update(secret, "utf8"), encryption.final()]);
    return Buffer.concat([nonce, encrypted, encryption.getAuthTag()]);
  }

  /** @throws {AppError} CONFLICT if the secret was encrypted under another `AUTH_SECRET`. */
  decrypt(userId: UserId, sealed: Buffer): string {
    try {
      const decryption = createDecipheriv(cipher, this.#encryptionKey, sealed.subarray(0, nonceBytes))
        .setAAD(Buffer.from(userId))
        .setAuthTag(sealed.subarray(-tagBytes));
      const secret = sealed.subarray(nonceBytes, -tagBytes);
      return Buffer.concat([decryption.update(secret), decryption.final()]).toString("utf8");
    } catch (cause) {
      const message =
        "This instance can't check codes of your authenticator app anymore. Ask its operator to reset your second factors.";
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
