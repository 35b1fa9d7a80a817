import type { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";
import { translateFailure } from "../failure.ts";

/** The one place where something thrown becomes a response. What is no `AppError` is a bug: logged, never told. */
export function errorBoundary(log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = translateFailure(thrown);
      if (error.status >= 500)
        log.error({ requestId: ctx.requestId, err: error.cause ?? error }, error.message);
      answerError(ctx, error);
    }
  };
}

/** The body of every error answer. */
export function errorBody(error: AppError, requestId: string): object {
  const { code, message, issues } = error;
  return { error: { code, message, requestId, ...(issues ? { issues } : {}) } };
}

function answerError(ctx: Context, error: AppError): void {
  ctx.status = error.status;
  ctx.body = errorBody(error, ctx.requestId);
  ctx.set("X-Request-Id", ctx.requestId);
  ctx.set(error.headers);
  ctx.set("Cache-Control", "no-store");
  if (error.retryAfterSeconds !== undefined) ctx.set("Retry-After", String(error.retryAfterSeconds));
}
