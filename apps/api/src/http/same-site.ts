import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "@latchkey/errors";

/**
 * Refuses a change that another site's page makes a browser send along with our cookie.
 *
 * A browser says where a request comes from in `Sec-Fetch-Site`, or, an older one, in `Origin`, and a page
 * cannot forge either. Who sends neither is no browser and has no cookie that is not its own. `same-site` is
 * refused too: other ports of this host, and other hosts of this domain, are not us.
 *
 * @throws {AppError} FORBIDDEN
 */
export function requireSameOrigin(method: string, headers: IncomingHttpHeaders): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers["sec-fetch-site"];
  const isOwn =
    site === undefined
      ? headers.origin === undefined || originHost(headers.origin) === headers.host
      : site === "same-origin" || site === "none";
  if (!isOwn) throw new AppError("FORBIDDEN", { message: "The request came from another site" });
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
