import type { Context } from "koa";

/**
 * Returns the first of the encodings that the client accepts, or undefined if it accepts none of them. Koa alone would
 * choose in the order of the client's header, and browsers list gzip before Brotli, which compresses better. Ignores
 * q-values other than 0.
 */
export function preferredEncoding<Encoding extends string>(
  ctx: Context,
  encodings: Iterable<Encoding>,
): Encoding | undefined {
  for (const encoding of encodings) if (ctx.acceptsEncodings(encoding) === encoding) return encoding;
  return undefined;
}
