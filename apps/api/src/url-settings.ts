// Checks of the URLs in the environment.

/**
 * Parameters that replace Latchkey's own settings of each connection. With another role in `options`, there is no row-level security
 * between tenants; with other timeouts, statements outlive the deadlines of requests; and `latchkey restore` recognizes a server
 * by its `application_name`.
 */
const reservedParameters = [
  "options",
  "statement_timeout",
  "lock_timeout",
  "query_timeout",
  "idle_in_transaction_session_timeout",
  "application_name",
];

/** Says why a text isn't a valid database URL. Doesn't repeat the text, which may contain a password. */
export function explainInvalidDatabaseUrl(text: string): string | undefined {
  // The fragment of a URL begins at "#". A password that contains "#" would be cut off, and the host would be wrong.
  if (text.includes("#")) return 'must not contain "#": write it as "%23", for example in a password';
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    return "must be a URL such as postgres://user@host:5432/latchkey, with special characters in the password percent-encoded";
  const url = new URL(text);
  // The host of a URL ends at the first "/" or "?", so a password that contains one is parsed as the host, the port and the path,
  // which messages and the log contain.
  if (`${url.pathname}${url.search}`.includes("@"))
    return 'must not contain "@" after the host: write "/", "?" and "@" in a password as "%2F", "%3F" and "%40"';
  const reserved = reservedParameters.find((name) => url.searchParams.has(name));
  if (reserved === "options")
    return "must not have an `options` parameter; set these options with `alter role` instead";
  if (reserved) return `must not have the parameter \`${reserved}\`, which Latchkey sets itself`;
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
