import type { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";
import { translateFailure } from "../failure.ts";
import { describeIssues } from "../issues.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply, type Reply, writeReply } from "./reply.ts";

/** Answers a request with what was thrown while it was served. It never throws itself. */
export type AnswerFailure = (ctx: Context, thrown: unknown) => void;

/** The one place where something thrown becomes a response. What is no `AppError` is a bug: logged, never told. */
export function createFailureAnswer(log: Logger, baseUrl: string): AnswerFailure {
  const warnOfTurnedAway = createTally(
    log,
    "requests were answered 503, because too many wait or the database is away",
  );
  const tell = (error: AppError, requestId: string): void => {
    // Admission tells what keeps it from the database. Each caller of a crowd in the log would fill the disk.
    if (error.code === "SERVICE_UNAVAILABLE" && error.cause === undefined) warnOfTurnedAway();
    else if (error.status >= 500) log.error({ requestId, err: error.cause ?? error }, error.message);
  };
  return (ctx, thrown) => {
    ctx.respond = false;
    try {
      const error = translateFailure(thrown);
      tell(error, ctx.requestId);
      // Of an answer that was begun, the end of its connection is all that can tell that it failed.
      if (ctx.headerSent) ctx.res.destroy();
      else {
        ctx.res.statusMessage = ""; // Node's own for the status, whatever was set before.
        writeReply(ctx.res, errorReply(ctx, error, baseUrl));
      }
    } catch {
      // So too where it cannot even be told: others are served right after it, and this must not keep them from it.
      ctx.res.destroy();
    }
  };
}

/** Has what the middleware after it throws answered. */
export function errorBoundary(answerFailure: AnswerFailure): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      answerFailure(ctx, thrown);
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

/** The body of every error response. `baseUrl` is the instance's own, under which it documents its errors. */
export function errorBody(
  error: AppError,
  { requestId, baseUrl }: { readonly requestId: string; readonly baseUrl: string },
): object {
  const { code, message } = error;
  const documentationUrl = `${baseUrl}/docs/errors#${code}`;
  return { error: { code, message, requestId, documentationUrl, ...describeIssues(error) } };
}

function errorReply(ctx: Context, error: AppError, baseUrl: string): Reply {
  return jsonReply(ctx.requestId, {
    status: error.status,
    value: errorBody(error, { requestId: ctx.requestId, baseUrl }),
    headers: [
      ...Object.entries(error.headers).flat(),
      ...rateLimitHeaders(ctx.limit),
      ...(error.retryAfterSeconds === undefined ? [] : ["Retry-After", String(error.retryAfterSeconds)]),
    ],
  });
}
