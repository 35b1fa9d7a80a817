import { randomUUID } from "node:crypto";
import type { Middleware } from "koa";

declare module "koa" {
  interface ExtendableContext {
    /** Names this request in the answer, the log and the audit trail. */
    requestId: string;
  }
}

const wellFormed = /^[A-Za-z0-9._~+/=-]{1,128}$/;

/** Takes over the caller's `X-Request-Id` if it is well-formed (1 to 128 URL-safe characters), else makes one. */
export function requestId(): Middleware {
  return async (ctx, next) => {
    const given = ctx.req.headers["x-request-id"];
    ctx.requestId = typeof given === "string" && wellFormed.test(given) ? given : randomUUID();
    ctx.set("X-Request-Id", ctx.requestId);
    await next();
  };
}
