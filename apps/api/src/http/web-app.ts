import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";
import serveStatic from "koa-static";

const yearInMs = 365 * 86_400_000;

/**
 * The built web app: its files, and its one page for every address that is none of them.
 *
 * @param directory `apps/web/dist`.
 */
export async function webApp(directory: string): Promise<Middleware> {
  const page = await readFile(join(directory, "index.html"));
  const files = serveStatic(directory, {
    index: false,
    hidden: false,
    setHeaders: (res, path) => {
      // Names under assets/ carry a hash of their content; everything else is asked for again each time.
      const isHashed = path.startsWith(join(directory, "assets/"));
      res.setHeader(
        "Cache-Control",
        isHashed ? `public, max-age=${yearInMs / 1_000}, immutable` : "no-cache",
      );
    },
  });
  return async (ctx) => {
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    if (!isPlainPath(ctx.path)) throw new AppError("NOT_FOUND");
    // Scripts and styles lie there compressed too, and are sent as the browser can take them.
    ctx.vary("Accept-Encoding");
    await files(ctx, async () => undefined);
    if (ctx.body !== undefined || ctx.status !== 404) return;
    // A page's address has no dot; what has one is a file, and that file does not exist.
    if (ctx.path.includes(".")) throw new AppError("NOT_FOUND");
    ctx.type = "html";
    ctx.set("Cache-Control", "no-cache");
    ctx.body = page;
  };
}

/** Whether a path is what it seems: no encoded slash, no back-slash or NUL, no empty or dot segment. */
function isPlainPath(path: string): boolean {
  if (/%2f|%5c/i.test(path)) return false;
  try {
    return !/[\\\0]|\/[./]/.test(decodeURIComponent(path));
  } catch {
    return false; // An encoding that is none names no file.
  }
}
