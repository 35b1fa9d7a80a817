import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";
import { type StaticFile, type StaticFiles, sendFile } from "./static-files.ts";

/** The pages that this module serves, by their file names in the web app's build. */
export const documentationPages = { reference: "docs.html", errors: "docs-errors.html" } as const;

/** The comment in the page of errors that is replaced by the error reference. */
const placeholder = "<!-- error reference -->";

/**
 * Compresses the OpenAPI document, 390 kB, to 29 kB in 27 ms of processor time (measured on an AMD EPYC). Node's default,
 * 11, takes 300 ms at every start of a node, for 27 kB.
 */
const brotliQuality = 9;

/**
 * Serves the description of the open API: for programs at `/openapi.json`, and for people at `/docs` and
 * `/docs/errors`. The description doesn't change until the next release, so it is compressed once, and a client that
 * has it gets 304.
 * @param files the built web app.
 * @param errorReference the content of `/docs/errors`, as HTML.
 */
export async function documentation(
  files: StaticFiles,
  { openApiDocument, errorReference }: { readonly openApiDocument: object; readonly errorReference: string },
): Promise<Middleware> {
  const errors = getPage(files, documentationPages.errors).plain.toString();
  const served: Readonly<Record<string, { readonly name: string; readonly file: StaticFile }>> = {
    "/openapi.json": { name: ".json", file: await compress(JSON.stringify(openApiDocument)) },
    "/docs": { name: ".html", file: await compress(getPage(files, documentationPages.reference).plain) },
    "/docs/errors": {
      name: ".html",
      file: await compress(errors.replace(placeholder, () => errorReference)),
    },
  };
  return async (ctx, next) => {
    const found = Object.hasOwn(served, ctx.path) ? served[ctx.path] : undefined;
    if (!found) return await next();
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    ctx.set("Cache-Control", "no-cache");
    sendFile(ctx, found.name, found.file);
  };
}

/** @throws an Error if the web app has not been built. */
function getPage(files: StaticFiles, name: string): StaticFile {
  const page = files.get(name);
  if (!page) throw new Error(`There is no ${name}: the web app has not been built.`);
  return page;
}

async function compress(content: string | Buffer): Promise<StaticFile> {
  const plain = Buffer.from(content);
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(plain, { params }), promisify(gzip)(plain)]);
  const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
  return {
    etag,
    plain,
    compressed: new Map([
      ["br", br],
      ["gzip", gz],
    ]),
  };
}
