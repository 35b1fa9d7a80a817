import type { IncomingMessage } from "node:http";
import Koa from "koa";

/** The prototype of Koa's requests. */
const { request: koaRequest } = new Koa();

/** A request as Koa describes it, with all that needs neither a context nor a response. */
export function toKoaRequest(req: IncomingMessage): typeof koaRequest {
  return Object.assign(Object.create(koaRequest) as typeof koaRequest, { req }); // `create` returns `any`.
}

/**
 * Returns the path of a request, without the query. Admission, CORS and the request log use this path, so that they
 * treat a request alike. The app routes by Koa's `path`, which is the same for everything that doesn't begin with
 * `/open/`.
 * @returns undefined for a target that can't be parsed, to which the app responds with 400.
 */
export function readPath(req: IncomingMessage): string | undefined {
  const target = req.url ?? "";
  if (target.startsWith("/open/")) {
    const query = target.indexOf("?");
    return query === -1 ? target : target.slice(0, query);
  }
  try {
    // Koa has its own rules for absolute URLs, for backslashes before a fragment, and for other targets.
    // A target such as `ws:` has no path, which Koa's types don't say.
    return toKoaRequest(req).path || undefined;
  } catch {
    return undefined;
  }
}
