import { randomBytes } from "node:crypto";
import { chown, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { passwordPath, superuserName } from "./cluster-connection.ts";
import { type ClusterLocation, hasCluster } from "./cluster-location.ts";
import { translateWriteErrors } from "./data-directory.ts";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import { runProgram } from "./run-program.ts";

const majorVersion = "18";
const temporaryPrefix = "postgres.tmp-";
const initdbWithinMilliseconds = 120_000;

/** Longer than the timeout of initdb, so that no process still uses a directory of this age. */
const staleAfterMilliseconds = 600_000;

/** Settings in postgresql.conf of a new cluster, which the operator can tune. */
const initialSettings = {
  max_connections: "200",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
  min_wal_size: "512MB",
};

/**
 * Creates a cluster at a location that has none. It is renamed into place when it is complete. If several processes
 * create it at the same time, the first one wins.
 * @throws EmbeddedPostgresError `start-failed`, `data-directory-not-writable`
 */
export async function createCluster(location: ClusterLocation, binaries: Binaries): Promise<void> {
  const temporary = await translateWriteErrors(location.home, () =>
    mkdtemp(join(location.home, temporaryPrefix)),
  );
  try {
    await initialize(temporary, location, binaries);
    await rename(join(temporary, "cluster"), location.cluster);
    await sync(location.home);
  } catch (error) {
    const isTaken = ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errorCode(error) ?? "");
    if (!isTaken) throw error;
    if (!(await hasCluster(location.cluster))) {
      const message = `${location.cluster} exists and isn't a Postgres cluster; move it, or choose another data directory.`;
      throw new EmbeddedPostgresError("start-failed", message, { cause: error });
    }
    // Another process has just created the cluster. Ours is removed.
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** @throws EmbeddedPostgresError `other-version` unless this major version created the cluster */
export async function requireVersion(cluster: string): Promise<void> {
  const version = (await readFile(join(cluster, "PG_VERSION"), "utf8")).trim();
  if (version === majorVersion) return;
  throw new EmbeddedPostgresError(
    "other-version",
    `The database in ${cluster} was made by Postgres ${version}, and this is Postgres ${majorVersion}; ` +
      "dump it with its own version and restore it into a new data directory.",
  );
}

async function initialize(temporary: string, location: ClusterLocation, binaries: Binaries): Promise<void> {
  const { account } = location;
  const cluster = join(temporary, "cluster");
  const passwordFile = join(temporary, "password");
  const password = `${randomBytes(32).toString("base64url")}\n`;
  await writeFile(passwordFile, password, { flag: "wx", mode: 0o600, flush: true });
  if (account) await chown(passwordFile, account.uid, account.gid);
  if (account) await chown(temporary, account.uid, account.gid);
  const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const access = ["--auth=scram-sha-256", `--username=${superuserName}`, `--pwfile=${passwordFile}`];
  const settings = Object.entries(initialSettings).map(([name, value]) => `--set=${name}=${value}`);
  const args = ["--pgdata", cluster, "--no-instructions", ...locale, ...access, ...settings];
  const made = await runProgram(binaries.initdb, args, {
    account,
    timeoutMilliseconds: initdbWithinMilliseconds,
  });
  if (!made.isSuccess) {
    // The lines after the failure are consequences of it or report the cleanup.
    const lines = made.output.split("\n");
    const line = lines.find((text) => /ERROR|FATAL|PANIC|error:/.test(text)) ?? lines.at(-1);
    throw new EmbeddedPostgresError("start-failed", `initdb failed in ${location.home} (${line}).`);
  }
  await rename(passwordFile, passwordPath(cluster));
  await sync(cluster);
}

/** Flushes a directory, so that its entries survive a crash of the machine. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes temporary directories that a crash during an earlier creation left behind at least ten minutes ago. */
export async function removeStaleClusters(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(temporaryPrefix)) continue;
    const path = join(home, name);
    const found = await stat(path).catch(() => undefined);
    if (!found || Date.now() - found.mtimeMs < staleAfterMilliseconds) continue;
    await rm(path, { recursive: true, force: true });
  }
}
