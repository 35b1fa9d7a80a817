import { createHash, randomBytes } from "node:crypto";
import { chown, link, mkdir, mkdtemp, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createSharedDirectory, sharedDirectory } from "./binaries.ts";
import { makePrivate, translateWriteErrors } from "./data-directory.ts";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";
import { runProgram } from "./run-program.ts";
import { findServerAccount } from "./server-account.ts";
import { socketDirectoryOf, socketFileName } from "./socket-directory.ts";

/**
 * The location of a cluster, which may not exist yet. `home` is the directory that contains `cluster`. `reason` states
 * why it is not in the data directory.
 */
export interface ClusterLocation {
  readonly home: string;
  readonly cluster: string;
  readonly account: ServerAccount | undefined;
  readonly reason?: string;
}

/** The record in a data directory of a cluster outside of it. */
interface LocationRecord {
  readonly directory: string;
  readonly reason: string;
}

/**
 * Finds the cluster of a data directory, or the location for a new one: in the data directory, or in /var/lib/latchkey
 * if Latchkey runs as root and the user that runs Postgres can't access the data directory. Afterwards, the home exists
 * and is private.
 * @throws EmbeddedPostgresError `cluster-missing`, `no-user`, `not-reachable`, `other-owner`,
 *   `data-directory-not-writable`
 */
export async function findClusterLocation(dataDirectory: string): Promise<ClusterLocation> {
  const inside = clusterBelow(dataDirectory);
  if (await hasCluster(inside)) {
    const account = await findServerAccount(inside);
    await requireOwner(inside, account);
    await makePrivate(dataDirectory, account);
    // A connection takes a fraction of the processor time of the process that `canEnter` starts.
    if (!account || (await isListening(inside)) || (await canEnter(inside, account))) {
      return { home: dataDirectory, cluster: inside, account };
    }
    return await moveOut(dataDirectory, account);
  }
  const record = await readRecord(dataDirectory);
  if (record) return await readLocation(dataDirectory, record);
  const account = await findServerAccount();
  if (await canHost(dataDirectory, account)) return { home: dataDirectory, cluster: inside, account };
  return await readLocation(dataDirectory, await recordLocation(dataDirectory, account));
}

/** Whether a data directory contains a cluster, or a record of one. Changes nothing. */
export async function hasClusterLocation(dataDirectory: string): Promise<boolean> {
  if (await hasCluster(clusterBelow(dataDirectory))) return true;
  const record = await readRecord(dataDirectory);
  if (!record) return false;
  // A home that no longer exists is reported when the cluster is opened.
  const homeExists = (await stat(record.directory).catch(() => undefined)) !== undefined;
  return !homeExists || (await hasCluster(clusterBelow(record.directory)));
}

/**
 * Whether `directory` contains a cluster. An unreadable directory counts as one, because it may be another user's. A
 * cluster is renamed into place when it is complete, so there are no partial ones.
 */
export async function hasCluster(directory: string): Promise<boolean> {
  return await stat(join(directory, "PG_VERSION")).then(
    () => true,
    (error: unknown) => errorCode(error) === "EACCES",
  );
}

/**
 * Checks the owner, because Postgres refuses to run on the files of another user. Latchkey must not change the owner on
 * its own.
 */
async function requireOwner(cluster: string, account: ServerAccount | undefined): Promise<void> {
  const { uid, gid } = account ?? { uid: process.getuid?.(), gid: process.getgid?.() };
  const owner = (await stat(cluster)).uid;
  if (owner === uid) return;
  throw new EmbeddedPostgresError(
    "other-owner",
    `The database in ${cluster} belongs to the user with the ID ${owner}, but Postgres runs as the user with the ID ` +
      `${uid}; change the owner (chown -R ${uid}:${gid} ${cluster}), or copy it again and preserve the owner (cp -a).`,
  );
}

function clusterBelow(home: string): string {
  return join(home, "postgres");
}

function recordPath(dataDirectory: string): string {
  return join(dataDirectory, "postgres.place.json");
}

async function readRecord(dataDirectory: string): Promise<LocationRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordPath(dataDirectory), "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function readLocation(dataDirectory: string, record: LocationRecord): Promise<ClusterLocation> {
  const home = record.directory;
  if (!(await stat(home).catch(() => undefined))) {
    throw new EmbeddedPostgresError(
      "cluster-missing",
      `The database of ${dataDirectory} was stored in ${home}, which no longer exists; ` +
        `restore that directory, or remove ${recordPath(dataDirectory)} to start with an empty database.`,
    );
  }
  const cluster = clusterBelow(home);
  const isCreated = await hasCluster(cluster);
  const account = await findServerAccount(isCreated ? cluster : undefined);
  if (isCreated) await requireOwner(cluster, account);
  for (const directory of [dataDirectory, home]) await makePrivate(directory, account);
  return { home, cluster, account, reason: record.reason };
}

/**
 * Creates a home outside the data directory, and records it in the data directory. If several processes do so at the
 * same time, the first record wins.
 */
async function recordLocation(
  dataDirectory: string,
  account: ServerAccount | undefined,
): Promise<LocationRecord> {
  const suffix = randomBytes(4).toString("hex");
  const hash = createHash("sha256").update(dataDirectory).digest("hex").slice(0, 8);
  // With the hash of the path alone, a data directory that was removed and recreated would get the data of the removed
  // one.
  const directory = join(sharedDirectory, `${hash}-${suffix}`);
  const reason = `the user that runs Postgres cannot access ${await findBarrier(dataDirectory, account)}`;
  const draft = `${recordPath(dataDirectory)}.${suffix}`;
  await createSharedDirectory();
  await mkdir(directory, { mode: 0o700 });
  try {
    const record: LocationRecord = { directory, reason };
    await writeFile(draft, `${JSON.stringify(record)}\n`, { flag: "wx", mode: 0o600, flush: true });
    await link(draft, recordPath(dataDirectory));
    return record;
  } catch (error) {
    await rm(directory, { recursive: true });
    const first = errorCode(error) === "EEXIST" && (await readRecord(dataDirectory));
    if (first) return first;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Moves a cluster whose parent directories became inaccessible after its creation to a location that Postgres can
 * access.
 */
async function moveOut(dataDirectory: string, account: ServerAccount): Promise<ClusterLocation> {
  const location = await readLocation(
    dataDirectory,
    (await readRecord(dataDirectory)) ?? (await recordLocation(dataDirectory, account)),
  );
  try {
    await rename(clusterBelow(dataDirectory), location.cluster);
  } catch (error) {
    // ENOENT means that another process has just moved it.
    if (errorCode(error) !== "ENOENT") {
      await removeUnusedHome(dataDirectory, location);
      throw new EmbeddedPostgresError(
        "not-reachable",
        `The database in ${dataDirectory} cannot be used, because ${location.reason}; give that user access.`,
        { cause: error },
      );
    }
  }
  return location;
}

/**
 * Removes the record of a home without a cluster, and the home. Otherwise, if the cluster in the data directory were replaced, the next
 * start would create an empty one in that home.
 */
async function removeUnusedHome(dataDirectory: string, { home, cluster }: ClusterLocation): Promise<void> {
  if (await hasCluster(cluster)) return;
  await rm(recordPath(dataDirectory), { force: true });
  // Leaves a home that has other contents.
  await rmdir(home).catch(() => undefined);
}

async function canEnter(directory: string, account: ServerAccount): Promise<boolean> {
  return (await runProgram("/bin/sh", ["-c", 'cd -- "$1"', "sh", directory], { account })).isSuccess;
}

/** Whether the account can have a cluster in `home`. Tries it, because file modes alone don't decide it. */
async function canHost(home: string, account: ServerAccount | undefined): Promise<boolean> {
  if (!account) {
    await makePrivate(home, account);
    return true;
  }
  const probe = await translateWriteErrors(home, () => mkdtemp(join(home, "postgres.tmp-")));
  try {
    await makePrivate(home, account);
    await chown(probe, account.uid, account.gid);
    return (await runProgram("/bin/sh", ["-c", 'cd -- "$1" && : >probe', "sh", probe], { account }))
      .isSuccess;
  } catch {
    // A file system without owners (a share, a foreign mount) rejects chown.
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** Finds the topmost ancestor that the account can't enter, which the reason names. */
async function findBarrier(directory: string, account: ServerAccount | undefined): Promise<string> {
  const ancestors = [directory];
  for (let path = directory; path !== dirname(path); path = dirname(path)) ancestors.unshift(dirname(path));
  for (const ancestor of ancestors) if (account && !(await canEnter(ancestor, account))) return ancestor;
  return directory;
}

function isListening(cluster: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(socketDirectoryOf(cluster), socketFileName));
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
