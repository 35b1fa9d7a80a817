import type { IncomingMessage, OutgoingHttpHeader, RequestListener, ServerResponse } from "node:http";
import { isOpenApiPath } from "./edge-rules.ts";
import { requestIdOf } from "./request-id.ts";
import { readPath } from "./request-path.ts";

/** The response headers that pages may read in addition to those that CORS exposes by default. */
const exposedHeaders = [
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Link",
  "ETag",
  "Idempotent-Replayed",
  "Allow",
  "Deprecation",
  "Sunset",
].join(", ");

const preflightHeaders = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id",
  // In seconds. Chromium caches the response to a preflight for at most this long.
  "Access-Control-Max-Age": "7200",
};

/**
 * Allows pages of the given origins to call the open API and to read its document. Everything else keeps the browser's
 * default: pages of other sites can't read responses. Without origins, returns the listener unchanged, at no cost per
 * request.
 *
 * A preflight from one of the origins is answered here, before authentication: it has no credentials and isn't a use.
 * The browser's credentials are never allowed, because keys are sent in `Authorization`.
 * @param origins serialized, such as `https://app.example.com`.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function withCors(origins: readonly string[], listener: RequestListener): RequestListener {
  if (origins.length === 0) return listener;
  const allowed = new Set(origins);
  return (req, res) => {
    if (!isCrossOriginPath(readPath(req))) return listener(req, res);
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

function isCrossOriginPath(path: string | undefined): boolean {
  return path !== undefined && (isOpenApiPath(path) || path === "/openapi.json");
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
 * name that were set earlier (both may need `Vary`, for example).
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
