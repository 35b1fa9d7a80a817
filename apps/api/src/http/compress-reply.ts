import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Context } from "koa";
import type { Reply } from "./reply.ts";

/** Shorter bodies, in characters, stay as they are: they fit in a few packets, and compressing them costs more. */
const minLength = 4_096;

const compressors = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
} as const;
/** Near gzip's speed, and smaller. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 }, level: 6 };

/**
 * Compresses a long body for a client that accepts it, outside of the event loop. It is for lists alone: a response with
 * a secret must never be compressed beside what a caller chose, because its length would tell what they have in common
 * (BREACH).
 */
export async function compressReply(ctx: Context, { status, headers, body }: Reply): Promise<Reply> {
  const varying = [...headers, "Vary", "Accept-Encoding"];
  const encoding = ctx.acceptsEncodings("br", "gzip", "identity");
  if (body === undefined || body.length < minLength || (encoding !== "br" && encoding !== "gzip")) {
    return { status, headers: varying, body };
  }
  const packed = await compressors[encoding](body, options);
  const length = varying.indexOf("Content-Length") + 1;
  return {
    status,
    headers: [...varying.with(length, String(packed.length)), "Content-Encoding", encoding],
    body: packed,
  };
}
