import { bodyParser } from "@koa/bodyparser";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";

/** The largest body accepted, in bytes, as sent and as unpacked. */
export const maxBodyBytes = 100 * 1024;

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
 *   {@link maxBodyBytes}, BAD_REQUEST when it is not JSON.
 */
export async function readJsonBody(ctx: Context): Promise<unknown> {
  if (ctx.request.is("application/json") === false) throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  await parse(ctx, async () => undefined);
  return ctx.request.body ?? {};
}

function translate(error: Error): AppError {
  const status = "status" in error ? error.status : undefined;
  if (status === 413) return new AppError("PAYLOAD_TOO_LARGE", { cause: error });
  if (status === 415) return new AppError("UNSUPPORTED_MEDIA_TYPE", { cause: error });
  return new AppError("BAD_REQUEST", { message: "The body is not valid JSON", cause: error });
}
