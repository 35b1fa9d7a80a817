import type { IncomingMessage } from "node:http";
import { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import { requireShortQuery } from "./query.ts";

/** Refuses requests that are lawful HTTP for Node's parser but that no part of Latchkey should have to consider. */
export function edgeRules(): Middleware {
  return (ctx, next) => {
    if (!isReadable(ctx))
      throw new AppError("BAD_REQUEST", { message: "The request's target is not an address" });
    // Below `/open`, authentication comes before everything else, and whatever has come here has passed it by.
    if (isOpen(ctx.path)) throw unauthorized();
    requireOneHost(ctx.req);
    requireShortQuery(ctx.req.url ?? "");
    return next();
  };
}

/** For a request to the open API that brings no key, or has come past admission. */
export function unauthorized(): AppError {
  return new AppError("UNAUTHORIZED", { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Whether a path is one of the open API's. */
export function isOpen(path: string): boolean {
  return path === "/open" || path.startsWith("/open/");
}

/** @throws {AppError} BAD_REQUEST unless a request names its host once. */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = countHeader(rawHeaders, "host");
  // HTTP/1.0 has no host header; simple health checks still speak it.
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) return;
  throw new AppError("BAD_REQUEST", { message: "The request must name its host once" });
}

/** Koa reads the path when it is first asked for, and throws where there is none to be read. */
function isReadable(ctx: Context): boolean {
  try {
    return ctx.path.startsWith("/");
  } catch {
    return false;
  }
}

/** How often a header stands in a request. Node's `headers` silently keeps one of several. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}
