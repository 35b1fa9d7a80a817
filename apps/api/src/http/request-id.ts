import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { redactKeys } from "@latchkey/auth/redact-keys";
import { maxLength } from "@latchkey/limits";
import type { Middleware } from "koa";

declare module "koa" {
  interface ExtendableContext {
    /** The ID of this request in the response, the log and the audit log. */
    requestId: string;
  }
}

const wellFormed = new RegExp(`^[A-Za-z0-9._~+/=-]{1,${maxLength.requestId}}$`);

/**
 * Returns the caller's `X-Request-Id` if it is well-formed (1 to 128 URL-safe characters) and contains no API key,
 * which would be logged and stored; otherwise a new ID.
 */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && wellFormed.test(given) && redactKeys(given) === given
    ? given
    : randomUUID();
}

/** Sets `ctx.requestId`. Every response has this ID in a header, which the code that writes the response sets. */
export function assignRequestId(): Middleware {
  return (ctx, next) => {
    ctx.requestId = requestIdOf(ctx.req);
    return next();
  };
}

/** Sets `X-Request-Id` on the responses of all later middleware. */
export function setRequestIdHeader(): Middleware {
  return (ctx, next) => {
    ctx.set("X-Request-Id", ctx.requestId);
    return next();
  };
}
