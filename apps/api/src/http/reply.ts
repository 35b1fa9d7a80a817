import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A response that is ready to be written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | Readable | undefined;
}

interface ReplyHead {
  readonly status: number;
  /** Headers in addition to those of the body and of every reply: name, value, name, value. */
  readonly headers: readonly string[];
}

/** Creates a reply with a JSON body, or without a body if the value is undefined. */
export function jsonReply(
  requestId: string,
  { status, value, headers }: ReplyHead & { readonly value: object | undefined },
): Reply {
  return value === undefined
    ? { status, headers: ["X-Request-Id", requestId, ...commonHeaders, ...headers], body: undefined }
    : jsonTextReply(requestId, { status, text: JSON.stringify(value), headers });
}

/** Creates a reply whose body is JSON that has been formatted. */
export function jsonTextReply(
  requestId: string,
  { status, text, headers }: ReplyHead & { readonly text: string },
): Reply {
  return {
    status,
    headers: [
      "Content-Type",
      "application/json; charset=utf-8",
      "Content-Length",
      String(Buffer.byteLength(text)),
      "X-Request-Id",
      requestId,
      ...commonHeaders,
      ...headers,
    ],
    body: text,
  };
}

const commonHeaders = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

/**
 * Writes status, headers and body in one step, or streams the body. Bypasses Koa's `respond`, which sets each header
 * separately and checks the type of the body again. Later code must not change the response.
 * @returns for a stream, unless the request is a HEAD, a promise that is fulfilled when it has been sent or the client has closed the
 *   connection, and rejected when it can't be read; the connection is then closed.
 */
export function writeReply(res: ServerResponse, { status, headers, body }: Reply): Promise<void> | undefined {
  res.writeHead(status, headers as string[]); // Node only reads them.
  if (body instanceof Readable) {
    if (res.req.method !== "HEAD") return stream(body, res);
    // Node would read a stream to its end only to discard it.
    body.destroy();
    res.end();
    return undefined;
  }
  res.end(body);
  return undefined;
}

async function stream(body: Readable, res: ServerResponse): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  async function* read(): AsyncGenerator<unknown> {
    try {
      yield* body;
    } catch (error) {
      failure = { error };
      // Doesn't pass the error, because Koa would report it as an error of the connection.
      res.destroy();
    }
  }
  await pipeline(read, res).catch(() => undefined);
  if (failure) throw failure.error;
}
