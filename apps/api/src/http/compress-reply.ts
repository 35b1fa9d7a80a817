import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Context } from "koa";
import { preferredEncoding } from "./preferred-encoding.ts";
import type { Reply } from "./reply.ts";

/**
 * Shorter bodies, in characters, aren't compressed: they fit in a few packets, and compression costs more than it
 * saves.
 */
const minLength = 4_096;

const compressors = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
} as const;
/** At quality 4, Brotli is nearly as fast as gzip, and its output is smaller. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 }, level: 6 };

/**
 * Compresses a long body for a client that accepts it, outside of the event loop. Use it for lists only: a response
 * that contains both a secret and text that a caller chose must never be compressed, because its length would reveal
 * what the two have in common (BREACH).
 */
export async function compressReply(ctx: Context, { status, headers, body }: Reply): Promise<Reply> {
  const headersWithVary = [...headers, "Vary", "Accept-Encoding"];
  const encoding = preferredEncoding(ctx, ["br", "gzip"] as const);
  if (typeof body !== "string" || body.length < minLength || encoding === undefined) {
    return { status, headers: headersWithVary, body };
  }
  const compressed = await compressors[encoding](body, options);
  const lengthIndex = headersWithVary.indexOf("Content-Length") + 1;
  return {
    status,
    headers: [...headersWithVary.with(lengthIndex, String(compressed.length)), "Content-Encoding", encoding],
    body: compressed,
  };
}
