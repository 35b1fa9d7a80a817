import { constants } from "node:fs";
import { type FileHandle, link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { BackupError } from "@latchkey/db/backup-error";
import { isSystemError, reasonOfSystemError } from "../../system-error.ts";

/** The suffix of the file name while a backup isn't complete. */
const partialSuffix = ".partial";

/** @throws {BackupError} `file-exists` */
export async function requireNoFile(path: string): Promise<void> {
  const found = await translating(path, () => stat(path)).catch((error: unknown) => {
    if (error instanceof BackupError && error.kind === "file-missing") return undefined;
    throw error;
  });
  if (found) throw fileExists(path);
}

/**
 * Writes a compressed backup. The file appears under its name when it is complete and on disk, with access for its
 * owner only; until then, and after a crash, it is `<path>.partial`.
 * @throws {BackupError} `file-exists`, `file-inaccessible`, or what `chunks` throws.
 * @returns the size of the file in bytes.
 */
export async function writeBackupFile(
  path: string,
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const partial = path + partialSuffix;
  const file = await translating(partial, () => open(partial, "wx", 0o600));
  try {
    const size = await writeAll({ path: partial, file }, chunks, signal);
    await translating(path, () => publish(partial, path));
    return size;
  } finally {
    await rm(partial, { force: true });
  }
}

/**
 * Writes and closes the file. Doesn't convert errors of `chunks`, because a broken connection to Postgres has the same
 * error codes as a failed file operation.
 */
async function writeAll(
  { path, file }: { readonly path: string; readonly file: FileHandle },
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  try {
    const write = async (compressed: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of compressed) await translating(path, () => file.writeFile(chunk));
    };
    await pipeline(Readable.from(chunks), createGzip(), write, { signal });
    return await translating(path, async () => {
      await file.sync();
      return (await file.stat()).size;
    });
  } finally {
    await file.close();
  }
}

/** Gives the file its final name, which must not exist, and syncs the directory so that the name survives a crash. */
async function publish(partial: string, path: string): Promise<void> {
  try {
    // Unlike a renamed file, a link never replaces a file that has appeared in the meantime.
    await link(partial, path);
  } catch (error) {
    if (!isSystemError(error) || !["EPERM", "ENOTSUP", "ENOSYS"].includes(error.code)) throw error;
    // A file system without links.
    await requireNoFile(path);
    await rename(partial, path);
  }
  const directory = await open(dirname(path), constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** A backup that is open for reading; it can be read several times, and is the same file each time. */
export interface BackupFile {
  /** The backup from its beginning, uncompressed. */
  readonly read: () => AsyncIterable<Buffer>;
  readonly close: () => Promise<void>;
}

/** @throws {BackupError} `file-missing`, `file-inaccessible` */
export async function openBackupFile(path: string, signal: AbortSignal): Promise<BackupFile> {
  const file = await translating(path, () => open(path, "r"));
  return {
    async *read() {
      const compressed = file.createReadStream({ start: 0, autoClose: false, signal });
      const gunzip = createGunzip();
      // The reader of gunzip gets the errors of both streams.
      pipeline(compressed, gunzip).catch((error: Error) => gunzip.destroy(error));
      try {
        yield* gunzip;
      } catch (error) {
        throw translate(path, error);
      }
    },
    close: () => file.close(),
  };
}

async function translating<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw translate(path, error);
  }
}

/** Converts errors of the file system to a `BackupError`; returns other errors unchanged. */
function translate(path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  if (error.code === "EEXIST") return fileExists(path);
  if (error.code === "ENOENT") return new BackupError("file-missing", explainMissing(path), { cause: error });
  const message = `Can't access ${path}: ${reasonOfSystemError(error)}.`;
  return new BackupError("file-inaccessible", message, { cause: error });
}

/** Creating a file fails with ENOENT only if its directory doesn't exist. */
function explainMissing(path: string): string {
  return path.endsWith(partialSuffix)
    ? `There is no directory ${dirname(path)}.`
    : `There is no file or directory ${path}.`;
}

function fileExists(path: string): BackupError {
  const advice = path.endsWith(partialSuffix)
    ? "another backup is writing it or was killed; if no backup is running, delete it"
    : "choose another name; a backup never replaces a file";
  return new BackupError("file-exists", `${path} exists; ${advice}.`);
}
