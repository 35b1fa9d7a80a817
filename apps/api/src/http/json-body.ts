import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { AppError } from "@latchkey/errors";
import { requestLimits } from "@latchkey/limits";
import { getRawBody } from "raw-body";
import { andThen } from "./and-then.ts";
import { toKoaRequest } from "./request-path.ts";
import { requireUnambiguous } from "./unambiguous-json.ts";

const { maxBodyBytes } = requestLimits;

/** Whether the headers of a request announce a body. A chunked body can still be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** @throws {AppError} PAYLOAD_TOO_LARGE if the headers announce a body above {@link maxBodyBytes}. */
export function rejectLargeBody({ headers }: IncomingMessage): void {
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("PAYLOAD_TOO_LARGE");
}

/**
 * Reads a JSON object; an empty body counts as an empty object. Returns no promise if Node has already received the body.
 * @throws {AppError} UNSUPPORTED_MEDIA_TYPE unless it is `application/json` in UTF-8, PAYLOAD_TOO_LARGE above {@link
 *   maxBodyBytes} before or after decompression, BAD_REQUEST when it isn't UTF-8, JSON or an object, and what
 *   {@link requireUnambiguous} throws.
 */
export function readJsonBody(req: IncomingMessage): object | Promise<object> {
  rejectLargeBody(req);
  requireJson(req);
  return andThen(takeReceivedText(req) ?? readText(req), (text) => (text === "" ? {} : parseObject(text)));
}

function requireJson(req: IncomingMessage): void {
  // Most clients send this value, which needs no parsing.
  if (req.headers["content-type"] === "application/json") return;
  const request = toKoaRequest(req);
  if (request.is("application/json") === false || !/^(utf-?8)?$/i.test(request.charset)) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  }
}

/**
 * Returns a body that Node has received completely, which is the case for most small ones; undefined for all others. It exists for
 * speed only: it needs neither the listeners nor the promise and the decoder of {@link readText}.
 */
function takeReceivedText(req: IncomingMessage): string | undefined {
  if (!req.complete || req.destroyed || req.headers["content-encoding"] !== undefined) return undefined;
  const { readableLength } = req;
  if (readableLength === 0) return undefined;
  // Without a size, `read` returns only one of several chunks.
  const body: Buffer = req.read(readableLength); // A stream without an encoding returns buffers.
  if (body.length > maxBodyBytes) throw new AppError("PAYLOAD_TOO_LARGE");
  try {
    return wholeDecoder.decode(body);
  } catch (error) {
    throw translateReadError(error);
  }
}

/** Reports invalid bytes. It has no state between two bodies, because it only decodes whole ones. */
const wholeDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a body as text.
 * @throws {AppError} as {@link readJsonBody}, except for what isn't JSON.
 */
export async function readText(req: IncomingMessage): Promise<string> {
  let body: Readable = req;
  try {
    body = unpack(req);
    return await getRawBody(body, { limit: maxBodyBytes, encoding: "utf-8", decoder: createDecoder });
  } catch (error) {
    if (body !== req) {
      // The rest is discarded, so that the next request of the connection is read.
      req.unpipe();
      body.destroy();
      req.resume();
    }
    throw translateReadError(error);
  }
}

/** @throws {AppError} UNSUPPORTED_MEDIA_TYPE for a `Content-Encoding` other than `gzip`, `deflate` and `br`. */
function unpack(req: IncomingMessage): Readable {
  const encoding = req.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding === "identity") return req;
  // A client that has disconnected sends neither data nor an error.
  if (req.destroyed) throw new AppError("BAD_REQUEST", { message: "The body cannot be read" });
  const unpacked =
    encoding === "gzip" || encoding === "deflate"
      ? createUnzip()
      : encoding === "br"
        ? createBrotliDecompress()
        : undefined;
  if (!unpacked) {
    const message = "The body's Content-Encoding must be gzip, deflate or br";
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", { message });
  }
  // `getRawBody` removes its listener when it fails. Without another, an error in what follows would end the process.
  unpacked.on("error", () => undefined);
  // `pipe` doesn't forward the error if the client disconnects. `pipeline` does, but also closes the connection
  // before an error response can be sent.
  req.once("error", (error) => unpacked.destroy(error));
  // `getRawBody` counts the decompressed bytes. Any number of compressed ones can decompress to none.
  let receivedBytes = 0;
  req.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length;
    if (receivedBytes > maxBodyBytes) unpacked.destroy(new AppError("PAYLOAD_TOO_LARGE"));
  });
  return req.pipe(unpacked);
}

/** Decodes UTF-8, and throws a `TypeError` for invalid bytes, which other decoders replace by U+FFFD. */
function createDecoder() {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return {
    write: (chunk: Buffer) => decoder.decode(chunk, { stream: true }),
    end: () => decoder.decode(),
  };
}

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError("BAD_REQUEST", { message: "The body is not valid JSON", cause: error });
  }
  requireUnambiguous(text, value);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const message = "The body must be a JSON object";
  throw new AppError("BAD_REQUEST", { message, issues: [{ path: "", code: "invalid_type", message }] });
}

/** Translates an error in reading a body that can't be decompressed, isn't UTF-8, is too large or is incomplete. */
function translateReadError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof Error && "status" in error && error.status === 413) {
    return new AppError("PAYLOAD_TOO_LARGE", { cause: error });
  }
  const message = error instanceof TypeError ? "The body is not valid UTF-8" : "The body cannot be read";
  return new AppError("BAD_REQUEST", { message, cause: error });
}
