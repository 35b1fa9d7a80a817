import { Secret, TOTP } from "otpauth";

/** The parameters that every authenticator app supports, and the defaults of RFC 6238. */
const parameters = { algorithm: "SHA1", digits: 6, period: 30 } as const;

/** Creates the secret of an authenticator app: 160 random bits in base32, as RFC 4226 recommends. */
export function createTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** The URL that an authenticator app reads from a QR code. */
export function totpUrl(
  secret: string,
  { issuer, account }: { readonly issuer: string; readonly account: string },
): string {
  return new TOTP({ ...parameters, issuer, label: account, secret }).toString();
}

/** Reads a code that someone typed. Returns undefined if it can't be one. */
export function parseTotpCode(text: string): string | undefined {
  const code = text.replace(/\s/g, "");
  return /^[0-9]{6}$/.test(code) ? code : undefined;
}

/**
 * Finds the time step whose code this is: the current one, or one before or after it, because clocks differ and typing
 * takes time. The comparison takes the same time for every code.
 * @param nowSeconds since 1970, by the database's clock.
 */
export function findTotpStep(secret: string, code: string, nowSeconds: number): number | undefined {
  const timestamp = nowSeconds * 1_000;
  const delta = new TOTP({ ...parameters, secret }).validate({ token: code, timestamp, window: 1 });
  return delta === null ? undefined : Math.floor(nowSeconds / parameters.period) + delta;
}
