import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Context } from "koa";
import { StartError } from "../start-error.ts";
import { preferredEncoding } from "./preferred-encoding.ts";

/** A file, uncompressed and in each available encoding. */
export interface StaticFile {
  readonly etag: string;
  readonly plain: Buffer;
  /** The best encoding first. */
  readonly compressed: ReadonlyMap<string, Buffer>;
}

/** Files by their path relative to the directory, with slashes. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

const encodings = { br: ".br", gzip: ".gz" } as const;

/**
 * Reads a directory of built files, a few MB, into memory. If files were streamed from disk, each client that reads
 * slowly or disappears without closing its connection would keep a file descriptor open, and a few thousand such
 * clients would exhaust the descriptors of the process.
 * @throws {StartError} if there is no such directory, because the web app was not built.
 */
export async function readStaticFiles(directory: string): Promise<StaticFiles> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((cause) => {
    if (cause.code !== "ENOENT") throw cause;
    const advice = "Build it with `npx -y pnpm@12 build`.";
    throw new StartError(`The web app is not built: ${directory} does not exist. ${advice}`, { cause });
  });
  const contents = new Map<string, Buffer>();
  for (const entry of entries) {
    const path = relative(directory, join(entry.parentPath, entry.name)).replaceAll("\\", "/");
    const isHidden = path.split("/").some((name) => name.startsWith("."));
    if (entry.isFile() && !isHidden) contents.set(path, await readFile(join(directory, path)));
  }
  const files = new Map<string, StaticFile>();
  for (const [path, plain] of contents) {
    if (Object.values(encodings).some((ending) => path.endsWith(ending))) continue;
    const compressed = new Map<string, Buffer>();
    for (const [encoding, ending] of Object.entries(encodings)) {
      const content = contents.get(path + ending);
      if (content) compressed.set(encoding, content);
    }
    const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 12);
    files.set(path, { etag, plain, compressed });
  }
  return files;
}

/** Responds with a file in the best encoding that the client accepts, or with 304 if the client already has it. */
export function sendFile(ctx: Context, path: string, file: StaticFile): void {
  ctx.status = 200;
  ctx.type = path.slice(path.lastIndexOf("."));
  ctx.vary("Accept-Encoding");
  const encoding = preferredEncoding(ctx, file.compressed.keys());
  // An entity tag identifies the bytes that are sent, so each encoding has its own.
  ctx.etag = encoding ? `${file.etag}-${encoding}` : file.etag;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (encoding) ctx.set("Content-Encoding", encoding);
  ctx.body = (encoding && file.compressed.get(encoding)) ?? file.plain;
}
