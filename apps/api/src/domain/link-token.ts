import { createHash, randomBytes } from "node:crypto";

/** Creates the token of a single-use link: 256 random bits. Only its digest is stored. */
export function createLinkToken(): string {
  return randomBytes(32).toString("base64url");
}

/** SHA-256, which is sufficient for a random token. */
export function digestLinkToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
