import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Middleware } from "koa";

declare module "koa" {
  interface ExtendableContext {
    /** Names this request in the answer, the log and the audit trail. */
    requestId: string;
  }
}

/** But for a key, which somebody took for one: it would be logged. */
const wellFormed = /^(?!.*lk_[0-9A-Za-z]{36})[A-Za-z0-9._~+/=-]{1,128}$/;

/** The caller's `X-Request-Id` if it is well-formed (1 to 128 URL-safe characters), else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && wellFormed.test(given) ? given : randomUUID();
}

/** Names each request. Every answer carries that name; who writes one sets it. */
export function nameRequest(): Middleware {
  return (ctx, next) => {
    ctx.requestId = requestIdOf(ctx.req);
    return next();
  };
}

/** Sets `X-Request-Id` on the answers of everything after it. */
export function tellRequestId(): Middleware {
  return (ctx, next) => {
    ctx.set("X-Request-Id", ctx.requestId);
    return next();
  };
}
