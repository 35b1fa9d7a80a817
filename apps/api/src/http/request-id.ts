import { randomUUID } from "node:crypto";
import type { Middleware } from "koa";

declare module "koa" {
  interface ExtendableContext {
    /** Names this request in the answer, the log and the audit trail. */
    requestId: string;
  }
}

/** But for a key, which somebody took for one: it would be logged. */
const wellFormed = /^(?!.*lk_[0-9A-Za-z]{36})[A-Za-z0-9._~+/=-]{1,128}$/;

/**
 * Takes over the caller's `X-Request-Id` if it is well-formed (1 to 128 URL-safe characters), else makes one. Every
 * answer carries it; who writes one sets it, since the open API writes its headers all at once.
 */
export function nameRequest(): Middleware {
  return (ctx, next) => {
    const given = ctx.req.headers["x-request-id"];
    ctx.requestId = typeof given === "string" && wellFormed.test(given) ? given : randomUUID();
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
