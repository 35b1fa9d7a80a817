import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "@latchkey/errors";

/**
 * Rejects a change that a page of another site makes the browser send with its session cookie.
 *
 * Browsers send the origin of a request in `Sec-Fetch-Site`, and older browsers in `Origin`. A page can't forge
 * either header. A client that sends neither isn't a browser, so no page can make it send its cookies.
 * `same-site` is rejected too: other ports of this host and other hosts of this domain are other origins.
 *
 * The scheme of the origin must be that of `baseUrl`, because the node doesn't know with which one a proxy was called, and the
 * host and port that of the request, because several can be valid (docs/decisions/0018).
 * @throws {AppError} FORBIDDEN
 */
export function requireSameOrigin(method: string, headers: IncomingHttpHeaders, baseUrl: string): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers["sec-fetch-site"];
  const isSameOrigin =
    site === undefined
      ? headers.origin === undefined || headers.origin === ownOrigin(headers.host, baseUrl)
      : site === "same-origin" || site === "none";
  if (!isSameOrigin) throw new AppError("FORBIDDEN", { message: "The request came from another site" });
}

/** The origin that a page of the web app has; a default port is left out. Undefined if `host` isn't valid. */
function ownOrigin(host: string | undefined, baseUrl: string): string | undefined {
  const url = `${new URL(baseUrl).protocol}//${host}`;
  return host !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}
