import type { Context } from "koa";

/**
 * Answers with JSON: status, headers and body in one write, past Koa's own way, which sets each header and looks at
 * the body's kind once more. Nothing after it may touch the response.
 *
 * It lets the requests that were admitted with this one make their answers first, where these wait for nothing: to write
 * many one right after the other takes less time than to make one between two (docs/decisions/0008).
 *
 * @param headers name, value, name, value.
 */
export async function answerJson(
  ctx: Context,
  status: number,
  value: object | undefined,
  headers: readonly string[],
): Promise<void> {
  ctx.respond = false;
  const body = value && JSON.stringify(value);
  await undefined;
  if (body === undefined) {
    ctx.res.writeHead(status, ["X-Request-Id", ctx.requestId, ...headers]);
    ctx.res.end();
    return;
  }
  ctx.res.writeHead(status, [
    "Content-Type",
    "application/json; charset=utf-8",
    "Content-Length",
    String(Buffer.byteLength(body)),
    "X-Request-Id",
    ctx.requestId,
    ...headers,
  ]);
  ctx.res.end(body);
}
