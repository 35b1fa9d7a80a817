import type { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";
import type { EventLog } from "../event-log/event-log.ts";
import { translateFailure } from "../failure.ts";
import { describeIssues } from "../issues.ts";
import { isOpenApiPath } from "./edge-rules.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply, type Reply, writeReply } from "./reply.ts";

/** Responds to a request with the error that was thrown while it was handled. Never throws. */
export type AnswerFailure = (ctx: Context, thrown: unknown) => void;

/**
 * Turns everything that is thrown into a response. Anything that is neither an `AppError` nor a failure of the
 * database is a bug: it is logged, and the client gets no details.
 */
export function createFailureAnswer(events: EventLog, baseUrl: string): AnswerFailure {
  return (ctx, thrown) => {
    ctx.respond = false;
    try {
      const error = translateFailure(thrown);
      if (error.status >= 500) {
        events.reportRequest({
          source: isOpenApiPath(ctx.path) ? "open API" : "web app",
          error,
          requestId: ctx.requestId,
        });
      }
      // After the headers are sent, closing the connection is the only way to mark the response as failed.
      if (ctx.headerSent) ctx.res.destroy();
      else {
        ctx.res.statusMessage = ""; // Makes Node use its default for the status, whatever was set before.
        writeReply(ctx.res, errorReply(ctx, error, baseUrl));
      }
    } catch (bug) {
      // An exception here would also fail the other requests that are handled in the same turn.
      ctx.res.destroy();
      events.reportFailure("error response", bug, "an error response could not be written");
    }
  };
}

/** Node's codes for a connection that the client closed or that broke. */
const disconnectCodes = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
]);

/**
 * Logs what Koa reports outside of the middleware: clients that disconnect before their response is complete, and
 * bugs.
 */
export function createKoaErrorListener(events: EventLog, log: Logger): (error: unknown) => void {
  return (error) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (disconnectCodes.has(code))
      log.debug(`a client disconnected before its response was complete: ${code}`);
    else events.reportFailure("response", error, "a response could not be written");
  };
}

/** Responds to requests with the errors that later middleware throws. */
export function errorBoundary(answerFailure: AnswerFailure): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      answerFailure(ctx, thrown);
    }
  };
}

/** Creates the body of an error response. The instance documents its errors under its `baseUrl`. */
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
