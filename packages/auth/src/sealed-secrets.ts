import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Encrypts secrets that the product must be able to read again, such as those that sign messages to webhooks. */
export interface SealedSecrets {
  /** Encrypts a secret. Equal secrets have different ciphertexts. */
  readonly seal: (secret: string) => Buffer;
  /** @throws if it was changed, or sealed for another purpose or with another `AUTH_SECRET`. */
  readonly open: (sealed: Buffer) => string;
}

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;

/**
 * Seals secrets with AES-256-GCM. Without `AUTH_SECRET`, a copy of the database reveals none of them.
 * @param options.secret `AUTH_SECRET`.
 * @param options.purpose derives a key of its own, so that a secret that was sealed for one purpose can't be opened for
 *   another one.
 */
export function createSealedSecrets({
  secret,
  purpose,
}: {
  readonly secret: string;
  readonly purpose: string;
}): SealedSecrets {
  const key = Buffer.from(hkdfSync("sha256", secret, "", `latchkey ${purpose}`, 32));
  return {
    seal(plaintext) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes });
      return Buffer.concat([iv, cipher.update(plaintext, "utf8"), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed) {
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const plaintext = decipher.update(sealed.subarray(ivBytes, -tagBytes));
      return Buffer.concat([plaintext, decipher.final()]).toString("utf8");
    },
  };
}
