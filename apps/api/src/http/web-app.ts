import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";
import { readStaticFiles, sendFile } from "./static-files.ts";

const yearInSeconds = 365 * 86_400;

/**
 * The built web app: its files, and its one page for every address that is none of them.
 *
 * @param directory `apps/web/dist`.
 * @throws an Error when the web app has not been built.
 */
export async function webApp(directory: string): Promise<Middleware> {
  const files = await readStaticFiles(directory);
  const page = files.get("index.html");
  if (!page) throw new Error(`There is no index.html in ${directory}: the web app has not been built.`);
  return async (ctx) => {
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    const path = readPlainPath(ctx.path);
    if (path === undefined) throw new AppError("NOT_FOUND");
    const file = files.get(path);
    if (file) {
      // Names under assets/ carry a hash of their content; everything else is asked for again each time.
      const isHashed = path.startsWith("assets/");
      ctx.set("Cache-Control", isHashed ? `public, max-age=${yearInSeconds}, immutable` : "no-cache");
      return sendFile(ctx, path, file);
    }
    // A page's address has no dot; what has one is a file, and that file does not exist.
    if (path.includes(".")) throw new AppError("NOT_FOUND");
    ctx.set("Cache-Control", "no-cache");
    sendFile(ctx, "index.html", page);
  };
}

/**
 * A path without its first slash; undefined where it is not what it seems: an encoded slash, a back-slash or NUL, an
 * empty or dot segment.
 */
function readPlainPath(path: string): string | undefined {
  if (/%2f|%5c/i.test(path)) return undefined;
  try {
    const decoded = decodeURIComponent(path);
    return /[\\\0]|\/[./]/.test(decoded) ? undefined : decoded.slice(1);
  } catch {
    return undefined; // An encoding that is none names no file.
  }
}
