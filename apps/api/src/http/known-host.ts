import { isIP } from "node:net";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

/**
 * Rejects requests whose `Host` is not that of `BASE_URL`, against DNS rebinding: a page of `evil.example` whose name
 * comes to resolve to this server's address would be of the same origin as the web app behind it, and could read every
 * answer of the app to a browser inside the operator's network.
 *
 * The OpenAPI document is served to any host. It contains nothing that a key or a session protects, and programs load it
 * by the name that they call the open API by.
 */
export function requireKnownHost(baseUrl: string): Middleware {
  const isKnownHost = createHostMatcher(baseUrl);
  return (ctx, next) => {
    if (ctx.path === "/openapi.json" || isKnownHost(ctx.req.headers.host ?? "")) return next();
    throw new AppError("BAD_REQUEST", {
      message: `The request names another host than this server's. Use ${baseUrl}, or set BASE_URL to the URL that people use`,
    });
  };
}

/**
 * Matches the value of a `Host` header against a base URL. For a base URL with an IP address or `localhost`, as it is by
 * default, any IP address and `localhost` match, on any port: no other site's page can have such an origin, and people
 * use one as often as the other.
 */
export function createHostMatcher(baseUrl: string): (host: string) => boolean {
  const own = new URL(baseUrl);
  return (host) => {
    // A URL also has credentials, a path, a query and a fragment, which a host has not.
    if (/[@/\\?#]/.test(host)) return false;
    const given = URL.parse(`${own.protocol}//${host}`);
    if (!given) return false;
    return given.host === own.host || (isAddress(own.hostname) && isAddress(given.hostname));
  };
}

/** Whether a host names a machine without asking the DNS. */
function isAddress(hostname: string): boolean {
  return hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0;
}
