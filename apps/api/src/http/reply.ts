import type { ServerResponse } from "node:http";

/** A response that is ready to be written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
}

/** Creates a reply with a JSON body, or without a body if the value is undefined. */
export function jsonReply(
  requestId: string,
  {
    status,
    value,
    headers,
  }: {
    readonly status: number;
    readonly value: object | undefined;
    /** Headers in addition to those of the body and of every reply: name, value, name, value. */
    readonly headers: readonly string[];
  },
): Reply {
  if (value === undefined) {
    return { status, headers: ["X-Request-Id", requestId, ...commonHeaders, ...headers], body: undefined };
  }
  const body = JSON.stringify(value);
  return {
    status,
    headers: [
      "Content-Type",
      "application/json; charset=utf-8",
      "Content-Length",
      String(Buffer.byteLength(body)),
      "X-Request-Id",
      requestId,
      ...commonHeaders,
      ...headers,
    ],
    body,
  };
}

const commonHeaders = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

/**
 * Writes status, headers and body in one step. Bypasses Koa's `respond`, which sets each header separately and checks
 * the type of the body again. Later code must not change the response.
 */
export function writeReply(res: ServerResponse, { status, headers, body }: Reply): void {
  res.writeHead(status, headers as string[]); // Node only reads them.
  res.end(body);
}
