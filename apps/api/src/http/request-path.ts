import type { IncomingMessage } from "node:http";
import Koa from "koa";

/** Has Koa's way to read a request. */
const { request: koaRequest } = new Koa();

/**
 * The path of a request, without the query. Admission, CORS and the request log decide by it, so that none of them takes a
 * request for another one; the app routes by Koa's reading, which this is for everything that doesn't begin with `/open/`.
 * @returns undefined for a target that can't be read, which the app answers with 400.
 */
export function readPath(req: IncomingMessage): string | undefined {
  const target = req.url ?? "";
  if (target.startsWith("/open/")) {
    const query = target.indexOf("?");
    return query === -1 ? target : target.slice(0, query);
  }
  try {
    // Koa resolves a whole URL, a backslash before a fragment, and other targets in its own way.
    const request = Object.assign(Object.create(koaRequest) as typeof koaRequest, { req }); // It has that prototype.
    // A target such as `ws:` has no path, which Koa's types don't say.
    return request.path || undefined;
  } catch {
    return undefined;
  }
}
