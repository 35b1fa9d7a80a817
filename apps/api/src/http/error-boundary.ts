import type { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";
import { translateFailure } from "../failure.ts";
import { answerJson } from "./answer-json.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";

/** The one place where something thrown becomes a response. What is no `AppError` is a bug: logged, never told. */
export function errorBoundary(log: Logger): Middleware {
  const warnOfTurnedAway = createTally(
    log,
    "requests were answered 503, because too many wait or the database is away",
  );
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = translateFailure(thrown);
      // Admission tells what keeps it from the database. Each caller of a crowd in the log would fill the disk.
      if (error.code === "SERVICE_UNAVAILABLE" && error.cause === undefined) warnOfTurnedAway();
      else if (error.status >= 500)
        log.error({ requestId: ctx.requestId, err: error.cause ?? error }, error.message);
      // Of an answer that was begun, the end of its connection is all that can tell that it failed.
      if (ctx.headerSent) ctx.res.destroy();
      else await answerError(ctx, error);
    }
  };
}

/** Logs at most once a second how often something has happened since. */
function createTally(log: Logger, message: string): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > 1) return;
    setTimeout(() => {
      log.warn({ count }, message);
      count = 0;
    }, 1_000).unref();
  };
}

/** The body of every error answer. */
export function errorBody(error: AppError, requestId: string): object {
  const { code, message, issues } = error;
  return { error: { code, message, requestId, ...(issues ? { issues } : {}) } };
}

async function answerError(ctx: Context, error: AppError): Promise<void> {
  ctx.res.statusMessage = ""; // Node's own for the status, whatever was set before.
  await answerJson(ctx, error.status, errorBody(error, ctx.requestId), [
    ...Object.entries(error.headers).flat(),
    ...rateLimitHeaders(ctx.limit),
    "Cache-Control",
    "no-store",
    ...(error.retryAfterSeconds === undefined ? [] : ["Retry-After", String(error.retryAfterSeconds)]),
  ]);
}
