import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** Derives a key from `AUTH_SECRET` that equals no key for another purpose. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", `latchkey ${purpose}`, 32));
}

/**
 * Encrypts secrets that the product must be able to read again, such as those that sign messages to webhooks, with
 * AES-256-GCM. Without `AUTH_SECRET`, a copy of the database reveals none of them.
 */
export class SealedSecrets {
  readonly #key: Buffer;

  /** @param secret `AUTH_SECRET` */
  constructor(secret: string, purpose: string) {
    this.#key = deriveKey(secret, purpose);
  }

  /**
   * Encrypts a secret: nonce, ciphertext, tag. Equal secrets have different ciphertexts.
   * @param owner the ID of what the secret belongs to. It can't be opened for another owner.
   */
  seal(owner: string, secret: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(owner));
    return Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws if it was changed, or sealed for another owner or purpose, or with another `AUTH_SECRET`. */
  open(owner: string, sealed: Buffer): string {
    const nonce = sealed.subarray(0, nonceBytes);
    const decipher = createDecipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(owner)).setAuthTag(sealed.subarray(-tagBytes));
    const secret = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([secret, decipher.final()]).toString("utf8");
  }
}
