// Checks of the URLs in the environment.

/** Says why a text isn't a valid database URL. Doesn't repeat the text, which may contain a password. */
export function explainInvalidDatabaseUrl(text: string): string | undefined {
  // The fragment of a URL begins at "#". A password that contains "#" would be cut off, and the host would be wrong.
  if (text.includes("#")) return 'must not contain "#": write it as "%23", for example in a password';
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    return "must be a URL such as postgres://user@host:5432/latchkey, with special characters in the password percent-encoded";
  const url = new URL(text);
  // They would replace Latchkey's own options, which enable the row-level security between tenants on each
  // connection.
  if (url.searchParams.has("options"))
    return "must not have an `options` parameter; set these options with `alter role` instead";
  try {
    for (const part of [url.username, url.password, url.hostname, url.pathname]) decodeURIComponent(part);
  } catch {
    return 'must not contain "%" other than as percent-encoding: write it as "%25"';
  }
  return undefined;
}

/** Whether a text is an origin, with or without a slash at its end. */
export function isWebOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const address = new URL(text);
  return /^https?:$/.test(address.protocol) && address.href === `${address.origin}/`;
}

/** Whether a text is the URL of an OpenID provider: with https, or with http at a loopback address. */
export function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.search || url.hash) return false;
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback);
}

export function isSmtpUrl(text: string): boolean {
  const url = URL.parse(text);
  return (url?.protocol === "smtp:" || url?.protocol === "smtps:") && url.hostname !== "";
}
