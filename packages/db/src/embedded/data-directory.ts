import { access, chmod, chown, constants, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";

/**
 * Creates the data directory and its missing ancestors, and returns its real path.
 * @throws EmbeddedPostgresError `data-directory-not-writable`, `data-directory-not-private`
 */
export async function createDataDirectory(path: string): Promise<string> {
  const directory = await translateWriteErrors(path, async () => {
    await createDirectories(resolve(path));
    await access(path, constants.W_OK | constants.X_OK);
    return await realpath(path);
  });
  // All users share a directory with the sticky bit, such as /tmp. Making it private would break other programs.
  if ((await stat(directory)).mode & 0o1000) {
    throw new EmbeddedPostgresError(
      "data-directory-not-private",
      `The data directory ${directory} is shared with other users; choose a directory that only Latchkey uses.`,
    );
  }
  return directory;
}

/** Replaces the `recursive` option of mkdir, which never returns if the kernel always answers ENOENT, as in /proc. */
async function createDirectories(path: string): Promise<void> {
  const created = await mkdir(path).catch((error: unknown) => errorCode(error) ?? "");
  if (created === "EEXIST" && (await stat(path)).isDirectory()) return;
  if (created === "ENOENT" && dirname(path) !== path) await createDirectories(dirname(path));
  if (created !== undefined) await mkdir(path);
}

/**
 * Makes a directory private: 0700, or 0710 with the group of the account that must pass through it. A directory of
 * another user keeps its owner, and also its mode if only its owner may change it.
 */
export async function makePrivate(directory: string, account: ServerAccount | undefined): Promise<void> {
  const before = await stat(directory);
  const self = account?.uid ?? process.getuid?.();
  if (account ? before.uid === self : before.uid !== self) return;
  const mode = account ? 0o710 : 0o700;
  try {
    if (account && before.gid !== account.gid) await chown(directory, before.uid, account.gid);
    if ((before.mode & 0o7777) !== mode) await chmod(directory, mode);
  } catch (error) {
    // A file system without owners, such as a share. Its own settings decide who has access.
    if (errorCode(error) !== "EPERM") throw error;
  }
}

// /proc rejects a new directory with ENOENT. EEXIST means that the path is a file.
const writeErrorCodes = new Set(
  "EACCES EDQUOT EEXIST ENAMETOOLONG ENOENT ENOSPC ENOTDIR EPERM EROFS".split(" "),
);

function explain(error: unknown, code: string): string {
  if (code === "EEXIST" || code === "ENOTDIR") return "it, or a directory above it, is a file";
  const { errno } = error as NodeJS.ErrnoException; // An error with a code of the operating system.
  return errno === undefined ? code : getSystemErrorMessage(errno);
}

/** Runs `work`, and translates errors of the operating system about writing in `path`. */
export async function translateWriteErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error) ?? "";
    if (!writeErrorCodes.has(code)) throw error;
    throw new EmbeddedPostgresError(
      "data-directory-not-writable",
      `Latchkey cannot write its data directory ${path}: ${explain(error, code)}.`,
      { cause: error },
    );
  }
}
