import { createHash } from "node:crypto";
import { chown, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";

/** No TCP port is open; the number is part of the socket's name. */
export const socketPort = 5432;

/** The name of the socket in its directory, as Postgres and its clients agree on it. */
export const socketFileName = `.s.PGSQL.${socketPort}`;

/** What fits into a socket's address on every platform, in bytes. */
const maximumSocketPathBytes = 103;

/** Where the socket of a cluster is: the cluster's own directory, or one below /tmp when that is too long. */
export function socketDirectoryOf(cluster: string): string {
  if (Buffer.byteLength(join(cluster, socketFileName)) <= maximumSocketPathBytes) return cluster;
  return `/tmp/latchkey-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
}

/**
 * Creates the socket's directory where it is not the cluster's own, refusing one that anybody else made.
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
    `The socket of Postgres cannot be in ${directory}, which belongs to somebody else; remove it.`,
  );
}
