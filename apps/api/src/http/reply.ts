import type { ServerResponse } from "node:http";

/** An answer that is ready to be written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
}

/** A reply with JSON, or without a body where the value is undefined. */
export function jsonReply(
  requestId: string,
  {
    status,
    value,
    headers,
  }: {
    readonly status: number;
    readonly value: object | undefined;
    /** Those besides the body's own and those of every reply: name, value, name, value. */
    readonly headers: readonly string[];
  },
): Reply {
  if (value === undefined) {
    return { status, headers: ["X-Request-Id", requestId, ...always, ...headers], body: undefined };
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
      ...always,
      ...headers,
    ],
    body,
  };
}

const always = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

/**
 * Writes status, headers and body at once, past Koa's own way, which sets each header and looks at the body's kind once
 * more. Nothing after it may touch the response.
 */
export function writeReply(res: ServerResponse, { status, headers, body }: Reply): void {
  res.writeHead(status, headers as string[]); // Node only reads them.
  res.end(body);
}
