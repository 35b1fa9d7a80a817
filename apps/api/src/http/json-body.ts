import { bodyParser } from "@koa/bodyparser";
import { AppError } from "@latchkey/errors";
import { type JSONPath, visit } from "jsonc-parser";
import type { Context } from "koa";

/** The largest body accepted, in bytes, as sent and as unpacked. */
export const maxBodyBytes = 100 * 1024;

/** How many objects and arrays may stand in each other; nothing that an endpoint takes comes near. */
const maxDepth = 32;

const parse = bodyParser({
  enableTypes: ["json"],
  extendTypes: { json: ["application/json"] },
  parsedMethods: ["POST", "PUT", "PATCH", "DELETE"],
  jsonLimit: maxBodyBytes,
  onError: (error) => {
    throw translate(error);
  },
});

/**
 * Reads a JSON body; an empty one is an empty object.
 * @throws {AppError} UNSUPPORTED_MEDIA_TYPE unless it is `application/json`, PAYLOAD_TOO_LARGE above
 *   {@link maxBodyBytes}, BAD_REQUEST when it is not JSON, is nested deeper than {@link maxDepth}, or has a member twice.
 */
export async function readJsonBody(ctx: Context): Promise<unknown> {
  if (ctx.request.is("application/json") === false) throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  await parse(ctx, async () => undefined);
  requireOneMeaning(ctx.request.rawBody ?? "");
  return ctx.request.body ?? {};
}

/**
 * Of two members of one name some readers keep the first, some the last: what a proxy has checked need not be what we
 * would carry out. `JSON.parse` has taken the text already, so that it is strict JSON.
 * @see https://www.rfc-editor.org/rfc/rfc8259#section-4
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
      if (met?.has(name)) throw notReadable("The body has a member twice", [...enclosing(), name]);
      met?.add(name);
    },
  });
}

function notReadable(message: string, path?: JSONPath): AppError {
  const issues = path && [
    { path: path.join("."), code: "duplicate_member" as const, message: "Given twice" },
  ];
  return new AppError("BAD_REQUEST", { message, ...(issues ? { issues } : {}) });
}

function translate(error: Error): AppError {
  const status = "status" in error ? error.status : undefined;
  if (status === 413) return new AppError("PAYLOAD_TOO_LARGE", { cause: error });
  if (status === 415) return new AppError("UNSUPPORTED_MEDIA_TYPE", { cause: error });
  return new AppError("BAD_REQUEST", { message: "The body is not valid JSON", cause: error });
}
