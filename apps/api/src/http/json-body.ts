import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { AppError, type Issue } from "@latchkey/errors";
import { type JSONPath, visit } from "jsonc-parser";
import type { Context } from "koa";
import { getRawBody } from "raw-body";

/** The maximum size of a body, in bytes, both as sent and decompressed. */
export const maxBodyBytes = 100 * 1024;

/** How deeply objects and arrays may be nested. No endpoint needs nearly as many levels. */
const maxDepth = 32;

/** Whether the headers of a request announce a body. A chunked body can still be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** @throws {AppError} PAYLOAD_TOO_LARGE if the headers announce a body above {@link maxBodyBytes}. */
export function rejectLargeBody({ req }: Context): void {
  if (Number(req.headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("PAYLOAD_TOO_LARGE");
}

/**
 * Reads a JSON object; an empty body counts as an empty object.
 * @throws {AppError} UNSUPPORTED_MEDIA_TYPE unless it is `application/json` in UTF-8, PAYLOAD_TOO_LARGE above {@link
 *   maxBodyBytes}, BAD_REQUEST when it isn't UTF-8, JSON or an object, is nested deeper than {@link maxDepth}, has a
 *   field twice or named `__proto__`, or has a string that isn't Unicode.
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
    throw translateReadError(error);
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
  if (!unpacked) {
    const message = "The body's Content-Encoding must be gzip, deflate or br";
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", { message });
  }
  // `pipe` doesn't forward the error if the client disconnects. `pipeline` does, but also closes the connection
  // before an error response can be sent.
  req.once("error", (error) => unpacked.destroy(error));
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
  requireUnambiguous(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const message = "The body must be a JSON object";
  throw new AppError("BAD_REQUEST", { message, issues: [{ path: "", code: "invalid_type", message }] });
}

/**
 * Rejects JSON that programs interpret differently. If an object has a field twice, some parsers keep the first and
 * others the last, so that a proxy could check another value than the one that Latchkey uses. A lone surrogate isn't a
 * character, and is replaced when it is stored as UTF-8. `JSON.parse` has already accepted the text, so it is strict
 * JSON. Also limits the nesting, and rejects fields named `__proto__`, which JavaScript can take for the prototype: zod
 * drops them silently from objects with any fields.
 * @see https://www.rfc-editor.org/rfc/rfc8259#section-4 and https://www.rfc-editor.org/rfc/rfc8259#section-8.2
 */
function requireUnambiguous(text: string): void {
  /** The field names found so far in each enclosing object; an empty set for an array. */
  const openObjects: Set<string>[] = [];
  const enter = (): void => {
    // The visitor recurses into nested values. Throwing stops the recursion.
    if (openObjects.push(new Set()) > maxDepth) throw badRequest("The body is nested too deeply");
  };
  const leave = (): void => {
    openObjects.pop();
  };
  visit(text, {
    onObjectBegin: enter,
    onObjectEnd: leave,
    onArrayBegin: enter,
    onArrayEnd: leave,
    onObjectProperty(name, _offset, _length, _line, _character, enclosing: () => JSONPath) {
      const names = openObjects.at(-1);
      if (names?.has(name))
        throw badRequest("The body has a duplicate field", duplicateMember([...enclosing(), name]));
      if (name === "__proto__")
        throw badRequest("The body has a forbidden field", forbiddenMember([...enclosing(), name]));
      if (!name.isWellFormed()) throw invalidUnicode([...enclosing(), name]);
      names?.add(name);
    },
    onLiteralValue(value, _offset, _length, _line, _character, path: () => JSONPath) {
      if (typeof value === "string" && !value.isWellFormed()) throw invalidUnicode(path());
    },
  });
}

function duplicateMember(path: JSONPath): Issue {
  return { path: path.join("."), code: "duplicate_member", message: "Duplicate field" };
}

function forbiddenMember(path: JSONPath): Issue {
  return { path: path.join("."), code: "unknown_member", message: "Unknown field" };
}

function invalidUnicode(path: JSONPath): AppError {
  const message = "Remove the unpaired surrogates.";
  return badRequest("The body has a string that is not valid Unicode", {
    path: path.join("."),
    code: "invalid_characters",
    message,
  });
}

function badRequest(message: string, issue?: Issue): AppError {
  return new AppError("BAD_REQUEST", { message, ...(issue ? { issues: [issue] } : {}) });
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
