import type { IncomingMessage } from "node:http";
import { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import { requireShortQuery } from "./query.ts";

/** Rejects requests that Node's HTTP parser accepts but that Latchkey doesn't support. */
export function edgeRules(): Middleware {
  return (ctx, next) => {
    if (!hasReadablePath(ctx))
      throw new AppError("BAD_REQUEST", { message: "The request target is not a valid URL" });
    // Requests to `/open` are authenticated before they reach these checks, so a request that reaches this line was not
    // authenticated.
    if (isOpenApiPath(ctx.path)) throw unauthorized();
    requireOneHost(ctx.req);
    requireShortQuery(ctx.req.url ?? "");
    return next();
  };
}

/** The error for a request to the open API that has no key or bypassed admission. */
export function unauthorized(): AppError {
  return new AppError("UNAUTHORIZED", { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Whether a path belongs to the open API. */
export function isOpenApiPath(path: string): boolean {
  return path === "/open" || path.startsWith("/open/");
}

/** @throws {AppError} BAD_REQUEST unless a request has exactly one `Host` header. */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = countHeader(rawHeaders, "host");
  // HTTP/1.0 requires no `Host` header; simple health checks still use HTTP/1.0.
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) return;
  throw new AppError("BAD_REQUEST", { message: "The request must have exactly one Host header" });
}

/** Koa parses the path on first access, and throws if it can't be parsed. */
function hasReadablePath(ctx: Context): boolean {
  try {
    return ctx.path.startsWith("/");
  } catch {
    return false;
  }
}

/** How often a header occurs in a request. Node's `headers` silently keeps one of several. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}
