import { createHash, randomBytes } from "node:crypto";
import { chown, link, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createSharedDirectory, sharedDirectory } from "./binaries.ts";
import { makePrivate, translatingRefusals } from "./data-directory.ts";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";
import { runProgram } from "./run-program.ts";
import { findServerAccount } from "./server-account.ts";
import { socketDirectoryOf, socketFileName } from "./socket-directory.ts";

/** Where a cluster is, or is to be: `home` holds it as `cluster`; `reason` says why it is elsewhere. */
export interface ClusterPlace {
  readonly home: string;
  readonly cluster: string;
  readonly account: ServerAccount | undefined;
  readonly reason?: string;
}

/** What the data directory remembers of a cluster outside it. */
interface PlaceRecord {
  readonly directory: string;
  readonly reason: string;
}

/**
 * Finds the cluster of a data directory, or the place for a first one: below it, or below
 * /var/lib/latchkey when root's Postgres cannot get into it. The home exists and is private afterwards.
 * @throws EmbeddedPostgresError `cluster-missing`, `no-user`, `not-reachable`, `other-owner`,
 * `data-directory-not-writable`
 */
export async function findClusterPlace(dataDirectory: string): Promise<ClusterPlace> {
  const inside = clusterBelow(dataDirectory);
  if (await hasCluster(inside)) {
    const account = await findServerAccount(inside);
    await requireOwner(inside, account);
    await makePrivate(dataDirectory, account);
    if (!account || (await canEnter(inside, account)) || (await isListening(inside))) {
      return { home: dataDirectory, cluster: inside, account };
    }
    return await moveOut(dataDirectory, account);
  }
  const record = await readRecord(dataDirectory);
  if (record) return await placeOf(dataDirectory, record);
  const account = await findServerAccount();
  if (await canHost(dataDirectory, account)) return { home: dataDirectory, cluster: inside, account };
  return await placeOf(dataDirectory, await recordPlace(dataDirectory, account));
}

/** Whether a data directory has a cluster, or says where one is. Changes nothing. */
export async function hasClusterPlace(dataDirectory: string): Promise<boolean> {
  if (await hasCluster(clusterBelow(dataDirectory))) return true;
  const record = await readRecord(dataDirectory);
  if (!record) return false;
  // A home that no longer exists is reported when the cluster is opened.
  const isHomeThere = await stat(record.directory).catch(() => undefined);
  return !isHomeThere || (await hasCluster(clusterBelow(record.directory)));
}

/** Whether `directory` holds a cluster, or what may be another user's; one that appears under its name is complete. */
export async function hasCluster(directory: string): Promise<boolean> {
  return await stat(join(directory, "PG_VERSION")).then(
    () => true,
    (error: unknown) => errorCode(error) === "EACCES",
  );
}

/** Postgres refuses to run on the files of another user, and nothing may be done about them without being told to. */
async function requireOwner(cluster: string, account: ServerAccount | undefined): Promise<void> {
  const { uid, gid } = account ?? { uid: process.getuid?.(), gid: process.getgid?.() };
  const owner = (await stat(cluster)).uid;
  if (owner === uid) return;
  throw new EmbeddedPostgresError(
    "other-owner",
    `The database in ${cluster} belongs to the user with the ID ${owner}, and Postgres runs as the one with the ID ` +
      `${uid}; give it to that user (chown -R ${uid}:${gid} ${cluster}), or copy it again and preserve the owner (cp -a).`,
  );
}

function clusterBelow(home: string): string {
  return join(home, "postgres");
}

function recordPath(dataDirectory: string): string {
  return join(dataDirectory, "postgres.place.json");
}

async function readRecord(dataDirectory: string): Promise<PlaceRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordPath(dataDirectory), "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function placeOf(dataDirectory: string, record: PlaceRecord): Promise<ClusterPlace> {
  const home = record.directory;
  if (!(await stat(home).catch(() => undefined))) {
    throw new EmbeddedPostgresError(
      "cluster-missing",
      `The database of ${dataDirectory} was kept in ${home}, which is gone; ` +
        `restore it, or remove ${recordPath(dataDirectory)} to begin with an empty one.`,
    );
  }
  const cluster = clusterBelow(home);
  const isThere = await hasCluster(cluster);
  const account = await findServerAccount(isThere ? cluster : undefined);
  if (isThere) await requireOwner(cluster, account);
  for (const directory of [dataDirectory, home]) await makePrivate(directory, account);
  return { home, cluster, account, reason: record.reason };
}

/** Gives the data directory a home outside it. Of processes that do so at once, the first one's holds. */
async function recordPlace(dataDirectory: string, account: ServerAccount | undefined): Promise<PlaceRecord> {
  const suffix = randomBytes(4).toString("hex");
  const hash = createHash("sha256").update(dataDirectory).digest("hex").slice(0, 8);
  // The path's hash alone would hand a removed and recreated data directory its predecessor's data.
  const directory = join(sharedDirectory, `${hash}-${suffix}`);
  const reason = `the user Postgres runs as cannot get into ${await findBarrier(dataDirectory, account)}`;
  const draft = `${recordPath(dataDirectory)}.${suffix}`;
  await createSharedDirectory();
  await mkdir(directory, { mode: 0o700 });
  try {
    const record: PlaceRecord = { directory, reason };
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

/** A cluster whose ancestors were closed after its creation follows to where Postgres can reach it. */
async function moveOut(dataDirectory: string, account: ServerAccount): Promise<ClusterPlace> {
  const place = await placeOf(
    dataDirectory,
    (await readRecord(dataDirectory)) ?? (await recordPlace(dataDirectory, account)),
  );
  try {
    await rename(clusterBelow(dataDirectory), place.cluster);
  } catch (error) {
    // ENOENT: another process has just moved it.
    if (errorCode(error) !== "ENOENT") {
      throw new EmbeddedPostgresError(
        "not-reachable",
        `The database in ${dataDirectory} cannot be used, since ${place.reason}; open that directory to it.`,
        { cause: error },
      );
    }
  }
  return place;
}

async function canEnter(directory: string, account: ServerAccount): Promise<boolean> {
  return (await runProgram("/bin/sh", ["-c", 'cd -- "$1"', "sh", directory], { account })).isSuccess;
}

/** Whether the account can keep a cluster below `home`: tried, since modes alone do not tell. */
async function canHost(home: string, account: ServerAccount | undefined): Promise<boolean> {
  if (!account) {
    await makePrivate(home, account);
    return true;
  }
  const probe = await translatingRefusals(home, () => mkdtemp(join(home, "postgres.tmp-")));
  try {
    await makePrivate(home, account);
    await chown(probe, account.uid, account.gid);
    return (await runProgram("/bin/sh", ["-c", 'cd -- "$1" && : >probe', "sh", probe], { account }))
      .isSuccess;
  } catch {
    // A file system without owners (a share, a foreign mount) refuses chown.
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** The topmost ancestor that the account cannot enter, for the reason we give. */
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
