import { createHash } from "node:crypto";
import { chown, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";

/** The number is part of the socket's name. No TCP port is open. */
export const socketPort = 5432;

/** The file name of the socket, as Postgres and its clients expect it. */
export const socketFileName = `.s.PGSQL.${socketPort}`;

/** The longest path of a socket that every platform supports, in bytes. */
const maximumSocketPathBytes = 103;

/** The directory of a cluster's socket: the cluster itself, or a directory in /tmp if that path is too long. */
export function socketDirectoryOf(cluster: string): string {
  if (Buffer.byteLength(join(cluster, socketFileName)) <= maximumSocketPathBytes) return cluster;
  return `/tmp/latchkey-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
}

/**
 * Creates the socket's directory if it is not the cluster itself. Rejects a directory that another user created.
 * @throws EmbeddedPostgresError `start-failed`
 */
export async function createSocketDirectory(
  cluster: string,
  account: ServerAccount | undefined,
): Promise<void> {
  const directory = socketDirectoryOf(cluster);
  if (directory === cluster) return;
  try {
    await mkdir(directory, { mode: 0o700 });
    if (account) await chown(directory, account.uid, account.gid);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const owner = account?.uid ?? process.getuid?.();
  const found = await lstat(directory);
  if (found.isDirectory() && found.uid === owner && (found.mode & 0o7777) === 0o700) return;
  throw new EmbeddedPostgresError(
    "start-failed",
    `The socket of Postgres cannot be in ${directory}, which belongs to another user; remove it.`,
  );
}
