import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "@latchkey/errors";

/**
 * Rejects a change that a page of another site makes the browser send with its session cookie.
 *
 * Browsers send the origin of a request in `Sec-Fetch-Site`, and older browsers in `Origin`. A page can't forge
 * either header. A client that sends neither isn't a browser, so no page can make it send its cookies.
 * `same-site` is rejected too: other ports of this host and other hosts of this domain are other origins.
 *
 * @throws {AppError} FORBIDDEN
 */
export function requireSameOrigin(method: string, headers: IncomingHttpHeaders): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers["sec-fetch-site"];
  const isSameOrigin =
    site === undefined
      ? headers.origin === undefined || originHost(headers.origin) === headers.host
      : site === "same-origin" || site === "none";
  if (!isSameOrigin) throw new AppError("FORBIDDEN", { message: "The request came from another site" });
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
