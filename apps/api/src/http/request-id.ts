import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { redactKeys } from "@latchkey/auth/redact-keys";
import type { Middleware } from "koa";

declare module "koa" {
  interface ExtendableContext {
    /** Names this request in the answer, the log and the audit trail. */
    requestId: string;
  }
}

const wellFormed = /^[A-Za-z0-9._~+/=-]{1,128}$/;

/**
 * The caller's `X-Request-Id` if it is well-formed (1 to 128 URL-safe characters) and contains no API key, which would be
 * logged and stored; else a new one.
 */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && wellFormed.test(given) && redactKeys(given) === given
    ? given
    : randomUUID();
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
