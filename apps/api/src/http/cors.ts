import type { IncomingMessage, OutgoingHttpHeader, RequestListener, ServerResponse } from "node:http";
import { isOpen } from "./edge-rules.ts";
import { requestIdOf } from "./request-id.ts";
import { readPath } from "./request-path.ts";

/** The response headers that pages may read beside those that CORS exposes anyway. */
const exposedHeaders = [
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Link",
  "ETag",
  "Idempotent-Replayed",
].join(", ");

const preflightHeaders = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id",
  // In seconds; Chromium keeps a preflight for no longer.
  "Access-Control-Max-Age": "7200",
};

/**
 * Lets pages of the given origins call the open API and read its document. Everything else keeps the browser's default,
 * under which no other site reads an answer. Without origins the listener stays as it is, at no cost per request.
 *
 * A preflight from one of the origins is answered here, before authentication: it carries no credentials, and it is not
 * a use. Credentials of the browser are never allowed, because a key travels in `Authorization`.
 * @param origins serialized, such as `https://app.example.com`.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function withCors(origins: readonly string[], listener: RequestListener): RequestListener {
  if (origins.length === 0) return listener;
  const allowed = new Set(origins);
  return (req, res) => {
    if (!isShared(readPath(req))) return listener(req, res);
    const origin = allowed.has(req.headers.origin ?? "") ? req.headers.origin : undefined;
    if (origin !== undefined && isPreflight(req)) return answerPreflight(req, res, origin);
    const headers = ["Vary", "Origin"];
    if (origin !== undefined) {
      headers.push("Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", exposedHeaders);
    }
    addHeaders(res, headers);
    listener(req, res);
  };
}

function isShared(path: string | undefined): boolean {
  return path !== undefined && (isOpen(path) || path === "/openapi.json");
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === "OPTIONS" &&
    headers["access-control-request-method"] !== undefined &&
    headers.authorization === undefined
  );
}

function answerPreflight(req: IncomingMessage, res: ServerResponse, origin: string): void {
  res.writeHead(204, {
    ...preflightHeaders,
    "Access-Control-Allow-Origin": origin,
    Vary: "Origin",
    "X-Request-Id": requestIdOf(req),
    "X-Content-Type-Options": "nosniff",
  });
  res.end();
}

/**
 * Adds headers when the head of the response is written, because a reply of the open API replaces headers of the same
 * name that were set before it (`Vary` is one that both may need).
 * @param headers name, value, name, value.
 */
function addHeaders(res: ServerResponse, headers: readonly string[]): void {
  const writeHead = res.writeHead;
  res.writeHead = ((status: number, ...rest: unknown[]) => {
    const given = rest.at(-1);
    if (Array.isArray(given))
      return writeHead.call(res, status, [...(given as OutgoingHttpHeader[]), ...headers]);
    for (let index = 0; index < headers.length; index += 2) {
      res.appendHeader(headers[index] ?? "", headers[index + 1] ?? "");
    }
    return writeHead.apply(res, [status, ...rest] as Parameters<typeof writeHead>);
  }) as typeof writeHead; // One signature stands for the method's overloads.
}
