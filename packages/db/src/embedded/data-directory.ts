import { access, chmod, chown, constants, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";

/**
 * Creates the data directory with its ancestors where missing and answers its real path.
 * @throws EmbeddedPostgresError `data-directory-not-writable`, `data-directory-not-private`
 */
export async function createDataDirectory(path: string): Promise<string> {
  const directory = await translatingRefusals(path, async () => {
    await createDirectories(resolve(path));
    await access(path, constants.W_OK | constants.X_OK);
    return await realpath(path);
  });
  // A directory such as /tmp is everybody's: closing it would break the machine.
  if ((await stat(directory)).mode & 0o1000) {
    throw new EmbeddedPostgresError(
      "data-directory-not-private",
      `The data directory ${directory} is shared with other users; choose one of Latchkey's own.`,
    );
  }
  return directory;
}

/** mkdir's own `recursive` never returns where the kernel answers ENOENT for ever, as below /proc. */
async function createDirectories(path: string): Promise<void> {
  const created = await mkdir(path).catch((error: unknown) => errorCode(error) ?? "");
  if (created === "EEXIST" && (await stat(path)).isDirectory()) return;
  if (created === "ENOENT" && dirname(path) !== path) await createDirectories(dirname(path));
  if (created !== undefined) await mkdir(path);
}

/**
 * Makes a directory private: 0700, or 0710 with the group of the account that must pass through it. One
 * that belongs to somebody else keeps its owner, and its mode too where only its owner may change it.
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
    // A file system without owners, such as a share; what is private in it is another's to decide.
    if (errorCode(error) !== "EPERM") throw error;
  }
}

// ENOENT is how /proc refuses a new directory; EEXIST says that the path is a file.
const refusals = new Set("EACCES EDQUOT EEXIST ENAMETOOLONG ENOENT ENOSPC ENOTDIR EPERM EROFS".split(" "));

/** Runs `work`, giving the system's refusals to write below `path` their sentence. */
export async function translatingRefusals<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error) ?? "";
    if (!refusals.has(code)) throw error;
    throw new EmbeddedPostgresError(
      "data-directory-not-writable",
      `Latchkey cannot write its data directory ${path} (${code}).`,
      { cause: error },
    );
  }
}
