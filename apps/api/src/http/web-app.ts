import { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import { z } from "zod";
import { documentationPages } from "./documentation.ts";
import { pageOnlyHeaders } from "./security-headers.ts";
import { type StaticFile, type StaticFiles, sendFile } from "./static-files.ts";

const yearInSeconds = 365 * 86_400;

const pageName = "index.html";
const pagePathsName = "page-paths.json";

/**
 * Serves the built web app: its files, and its only page for the paths of its router. Every other path is 404, so that
 * a proxy that checks requests with this server doesn't take the response to a mistyped path for an approval.
 *
 * @param built the files in `apps/web/dist`.
 * @throws an Error if the web app has not been built.
 */
export function webApp(built: StaticFiles): Middleware {
  const files = new Map(built);
  const page = files.get(pageName);
  if (!page) throw new Error(`There is no ${pageName}: the web app has not been built.`);
  const isPage = createPageMatcher(readPagePaths(files));
  for (const name of [pageName, pagePathsName, ...Object.values(documentationPages)]) files.delete(name);
  const find = (path: string): { readonly name: string; readonly file: StaticFile } | undefined => {
    if (isPage(path)) return { name: pageName, file: page };
    const name = readPlainName(path);
    if (name === undefined) return undefined;
    // An encoded slash is part of a name, and no file has one in its name.
    const file = /%2f/i.test(path) ? undefined : files.get(name);
    return file && { name, file };
  };
  return async (ctx) => {
    const found = find(ctx.path);
    if (!found) return respondNotFound(ctx, page);
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    // Names under assets/ contain a hash of the content. Everything else is revalidated on each request.
    const isHashed = found.name.startsWith("assets/");
    ctx.set("Cache-Control", isHashed ? `public, max-age=${yearInSeconds}, immutable` : "no-cache");
    // The build writes only scripts, style sheets and fonts to assets/.
    if (isHashed) for (const header of pageOnlyHeaders) ctx.remove(header);
    sendFile(ctx, found.name, found.file);
  };
}

function readPagePaths(files: StaticFiles): readonly string[] {
  return z.array(z.string()).parse(JSON.parse(String(files.get(pagePathsName)?.plain)));
}

/** The parameter at the end of a path that can have any text, such as `a/../b`. Other parameters are IDs and slugs. */
const textParameter = "$externalId";

/** Matches a path as it was sent against the router's paths, in which `$name` stands for one segment. */
function createPageMatcher(pagePaths: readonly string[]): (path: string) => boolean {
  const patterns = pagePaths.map((path) => {
    const [start = "", end] = path.split(textParameter);
    const plain = `(?<plain>${start.replaceAll(/\$\w+/g, "[^/]+")})`;
    return new RegExp(`^${plain}${end === undefined ? "" : "(?<text>[^/]+)"}$`);
  });
  return (path) =>
    patterns.some((pattern) => {
      const { plain, text } = pattern.exec(path)?.groups ?? {};
      return (
        plain !== undefined && readPlainName(plain) !== undefined && (text === undefined || isText(text))
      );
    });
}

/** Whether an encoded segment is a text that clients don't remove from paths. */
function isText(segment: string): boolean {
  try {
    return !/^\.{1,2}$|\p{Control}/u.test(decodeURIComponent(segment));
  } catch {
    return false;
  }
}

/** Browsers send about 150 characters. */
const maxAcceptLength = 1_024;

/**
 * Responds 404, with the app, which shows its own message, to browsers that navigate, and with JSON to other
 * clients.
 */
function respondNotFound(ctx: Context, page: StaticFile): void {
  // Parsing takes quadratic time. A header of 16 KB would block the event loop for 20 ms.
  const isShort = ctx.get("Accept").length <= maxAcceptLength;
  if (!isShort || ctx.accepts("json", "html") !== "html") {
    throw new AppError("NOT_FOUND", { headers: { Vary: "Accept" } });
  }
  ctx.vary("Accept");
  ctx.set("Cache-Control", "no-store");
  ctx.status = 404;
  ctx.type = "html";
  ctx.body = page.plain;
}

/**
 * Decodes a path and removes its first slash. Returns undefined if the path contains a malformed encoding, a backslash,
 * NUL, an empty segment or a segment that begins with a dot.
 */
function readPlainName(path: string): string | undefined {
  try {
    const decoded = decodeURIComponent(path);
    return /[\\\0]|\/[./]/.test(decoded) ? undefined : decoded.slice(1);
  } catch {
    return undefined;
  }
}
