import { isIP } from "node:net";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

/**
 * Rejects requests whose `Host` isn't the host of `BASE_URL`, to prevent DNS rebinding: if `evil.example` starts to
 * resolve to this server's address, a page of `evil.example` has the same origin as the web app under that name, and
 * could read every response of the app from a browser inside the operator's network.
 *
 * The OpenAPI document is served for any host. It contains nothing that a key or a session protects, and programs load
 * it from the host name by which they call the open API.
 */
export function requireKnownHost(baseUrl: string): Middleware {
  const isKnownHost = createHostMatcher(baseUrl);
  return (ctx, next) => {
    if (ctx.path === "/openapi.json" || isKnownHost(ctx.req.headers.host ?? "")) return next();
    throw new AppError("BAD_REQUEST", {
      message: `The \`Host\` header doesn't match this server. Use ${baseUrl}, or set BASE_URL to the URL that people use`,
    });
  };
}

/**
 * Matches the value of a `Host` header against a base URL. If the base URL has an IP address or `localhost`, as it has
 * by default, any IP address and `localhost` match, on any port: no page of another site can have such an origin, and
 * people use them interchangeably.
 */
export function createHostMatcher(baseUrl: string): (host: string) => boolean {
  const own = new URL(baseUrl);
  return (host) => {
    // These characters would begin credentials, a path, a query or a fragment, which a host doesn't have.
    if (/[@/\\?#]/.test(host)) return false;
    const given = URL.parse(`${own.protocol}//${host}`);
    if (!given) return false;
    return given.host === own.host || (isAddress(own.hostname) && isAddress(given.hostname));
  };
}

/** Whether a host name is resolved without DNS. */
function isAddress(hostname: string): boolean {
  return hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0;
}
