import { isIP } from "node:net";

/** The origin that passkeys are bound to. */
export interface RelyingParty {
  /** The host name, which a browser allows a page of this host to use. */
  readonly id: string;
  readonly origin: string;
}

/**
 * The relying party of an instance. Browsers offer passkeys only to secure origins with a host name: HTTPS, or
 * `http://localhost`. The web app on a loopback address is also served as `localhost`. Returns undefined for a base URL
 * with another IP address, or with plain HTTP on another host.
 * @see https://www.w3.org/TR/webauthn-3/#rp-id
 */
export function relyingPartyOf(baseUrl: string): RelyingParty | undefined {
  const { protocol, hostname, port, origin } = new URL(baseUrl);
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  const isLoopback = hostname === "localhost" || address === "::1" || /^127\.[0-9.]+$/.test(address);
  if (protocol === "http:" && isLoopback)
    return { id: "localhost", origin: `http://localhost${port && `:${port}`}` };
  return protocol === "https:" && isIP(address) === 0 ? { id: hostname, origin } : undefined;
}
