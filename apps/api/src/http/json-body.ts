import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { AppError, type Issue } from "@latchkey/errors";
import { type JSONPath, visit } from "jsonc-parser";
import type { Context } from "koa";
import { getRawBody } from "raw-body";

/** The largest body accepted, in bytes, as sent and as unpacked. */
export const maxBodyBytes = 100 * 1024;

/** How many objects and arrays may stand in each other; nothing that an endpoint takes comes near. */
const maxDepth = 32;

/** Whether a request announces a body. A chunked one may still turn out to be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Reads a JSON object; an empty body counts as an empty object.
 * @throws {AppError} UNSUPPORTED_MEDIA_TYPE unless it is `application/json` in UTF-8, PAYLOAD_TOO_LARGE above
 *   {@link maxBodyBytes}, BAD_REQUEST when it isn't UTF-8, JSON or an object, is nested deeper than {@link maxDepth}, has
 *   a member twice, or has a string that isn't Unicode.
 */
export async function readJsonBody(ctx: Context): Promise<object> {
  const { charset } = ctx.request;
  if (ctx.request.is("application/json") === false || !/^(utf-?8)?$/i.test(charset)) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  }
  const text = await readText(ctx.req);
  return text === "" ? {} : parseObject(text);
}

async function readText(req: IncomingMessage): Promise<string> {
  try {
    return await getRawBody(unpack(req), { limit: maxBodyBytes, encoding: "utf-8", decoder: createDecoder });
  } catch (error) {
    throw translate(error);
  }
}

/** @throws {AppError} UNSUPPORTED_MEDIA_TYPE for a `Content-Encoding` other than `gzip`, `deflate` and `br`. */
function unpack(req: IncomingMessage): Readable {
  const encoding = req.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding === "identity") return req;
  const unpacked =
    encoding === "gzip" || encoding === "deflate"
      ? createUnzip()
      : encoding === "br"
        ? createBrotliDecompress()
        : undefined;
  if (!unpacked) throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  // `pipe` doesn't tell of a client that has gone. `pipeline` would, but ends the connection before an error is answered.
  req.once("error", (error) => unpacked.destroy(error));
  return req.pipe(unpacked);
}

/** Decodes UTF-8, and throws a `TypeError` where other decoders put U+FFFD in place of what they can't read. */
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
  requireOneMeaning(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const message = "The body must be a JSON object";
  throw new AppError("BAD_REQUEST", { message, issues: [{ path: "", code: "invalid_type", message }] });
}

/**
 * Of two members of one name some readers keep the first, some the last: what a proxy has checked need not be what we
 * would carry out. A lone surrogate is no character, and is replaced by whoever stores it as UTF-8. `JSON.parse` has
 * taken the text already, so that it is strict JSON.
 * @see https://www.rfc-editor.org/rfc/rfc8259#section-4 and https://www.rfc-editor.org/rfc/rfc8259#section-8.2
 */
function requireOneMeaning(text: string): void {
  /** The members met so far of each object that is open, and none for an array. */
  const open: Set<string>[] = [];
  const enter = (): void => {
    // The visitor calls itself for what is inside, and goes no deeper once this has thrown.
    if (open.push(new Set()) > maxDepth) throw notReadable("The body is nested too deeply");
  };
  const leave = (): void => {
    open.pop();
  };
  visit(text, {
    onObjectBegin: enter,
    onObjectEnd: leave,
    onArrayBegin: enter,
    onArrayEnd: leave,
    onObjectProperty(name, _offset, _length, _line, _character, enclosing: () => JSONPath) {
      const met = open.at(-1);
      if (met?.has(name))
        throw notReadable("The body has a member twice", memberTwice([...enclosing(), name]));
      if (!name.isWellFormed()) throw notUnicode([...enclosing(), name]);
      met?.add(name);
    },
    onLiteralValue(value, _offset, _length, _line, _character, path: () => JSONPath) {
      if (typeof value === "string" && !value.isWellFormed()) throw notUnicode(path());
    },
  });
}

function memberTwice(path: JSONPath): Issue {
  return { path: path.join("."), code: "duplicate_member", message: "Given twice" };
}

function notUnicode(path: JSONPath): AppError {
  const message = "Remove the unpaired surrogates.";
  return notReadable("The body has a string that is not valid Unicode", {
    path: path.join("."),
    code: "invalid_characters",
    message,
  });
}

function notReadable(message: string, issue?: Issue): AppError {
  return new AppError("BAD_REQUEST", { message, ...(issue ? { issues: [issue] } : {}) });
}

/** The body can't be unpacked, isn't UTF-8, is too large or has broken off. */
function translate(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof Error && "status" in error && error.status === 413) {
    return new AppError("PAYLOAD_TOO_LARGE", { cause: error });
  }
  const message = error instanceof TypeError ? "The body is not valid UTF-8" : "The body cannot be read";
  return new AppError("BAD_REQUEST", { message, cause: error });
}
