import type { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Logger } from "pino";
import type { EventLog } from "../event-log/event-log.ts";
import { translateFailure } from "../failure.ts";
import { describeIssues } from "../issues.ts";
import { isOpen } from "./edge-rules.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply, type Reply, writeReply } from "./reply.ts";

/** Answers a request with what was thrown while it was served. It never throws itself. */
export type AnswerFailure = (ctx: Context, thrown: unknown) => void;

/** The one place where something thrown becomes a response. What is no `AppError` is a bug: logged, never told. */
export function createFailureAnswer(events: EventLog, baseUrl: string): AnswerFailure {
  return (ctx, thrown) => {
    ctx.respond = false;
    try {
      const error = translateFailure(thrown);
      if (error.status >= 500) {
        events.reportRequest({
          source: isOpen(ctx.path) ? "open API" : "web app",
          error,
          requestId: ctx.requestId,
        });
      }
      // A response whose head was sent can only be marked as failed by ending its connection.
      if (ctx.headerSent) ctx.res.destroy();
      else {
        ctx.res.statusMessage = ""; // Node's own for the status, whatever was set before.
        writeReply(ctx.res, errorReply(ctx, error, baseUrl));
      }
    } catch (bug) {
      // Requests that are served in the same turn must not fail with this one.
      ctx.res.destroy();
      events.reportFailure("error response", bug, "an error response could not be written");
    }
  };
}

/** Node's codes for a connection that the client closed or broke. */
const clientLeft = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
]);

/** Logs what Koa reports outside of the middleware: clients that leave before their response is complete, and bugs. */
export function createKoaErrorListener(events: EventLog, log: Logger): (error: unknown) => void {
  return (error) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (clientLeft.has(code)) log.debug(`a client left before its response was complete: ${code}`);
    else events.reportFailure("response", error, "a response could not be written");
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
