import type { Context } from "koa";

/**
 * Answers with JSON: status, headers and body in one write, past Koa's own way, which sets each header and looks at
 * the body's kind once more (docs/decisions/0008). Nothing after it may touch the response.
 *
 * @param headers name, value, name, value.
 */
export function answerJson(
  ctx: Context,
  status: number,
  value: object | undefined,
  headers: readonly string[],
): void {
  ctx.respond = false;
  if (!value) {
    ctx.res.writeHead(status, ["X-Request-Id", ctx.requestId, ...headers]);
    ctx.res.end();
    return;
  }
  const body = JSON.stringify(value);
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
