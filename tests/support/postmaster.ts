import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The files of the embedded Postgres in a data directory, and its process. */

/** Returns the directory of the cluster in a data directory that Postgres can access. */
export function clusterOf(dataDirectory: string): string {
  return join(dataDirectory, "postgres");
}

/** Returns the PID in `postmaster.pid`; undefined if there is no such file. */
export async function findPostmaster(cluster: string): Promise<number | undefined> {
  const content = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => undefined);
  return content === undefined ? undefined : Number.parseInt(content, 10);
}

/** @throws an Error if Postgres doesn't run. */
export async function getPostmaster(cluster: string): Promise<number> {
  const pid = await findPostmaster(cluster);
  if (pid === undefined || !(await isAlive(pid))) throw new Error(`No Postgres runs in ${cluster}.`);
  return pid;
}

/** Kills a Postgres like a crash of the machine: the postmaster and all of its processes. */
export async function killPostgres(cluster: string): Promise<void> {
  const pid = await getPostmaster(cluster);
  // A stopped process starts no new children while they are looked up.
  process.kill(pid, "SIGSTOP");
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ").filter(Boolean);
  for (const child of [String(pid), ...children]) endIfThere(Number(child));
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already exited.
  }
}

/** Returns how to connect to the application's database, from the cluster's files. */
export async function connectionTo(cluster: string): Promise<{
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly ssl: false;
}> {
  const password = (await readFile(join(cluster, "latchkey.password"), "utf8")).trim();
  return { host: cluster, port: 5432, user: "latchkey", password, database: "latchkey", ssl: false };
}

/** Whether a process runs. A zombie does not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/\) [ZX] /.test(stat);
}

/**
 * Whether this process is the Postgres of a cluster. The PID in a file that Postgres left behind, or wrote in another PID
 * namespace, can be that of any process.
 */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  // Without /proc, its command line is unknown.
  return (command === undefined || command.split("\0").includes(cluster)) && (await isAlive(pid));
}

/** Only ends what hangs, on a busy machine too. In milliseconds. */
const hangsAfterMs = 90_000;

/**
 * Polls every 20 ms until the result is true. Returns how long that took, in milliseconds.
 * @param withinMs a deadline of the product, if it promises one.
 * @throws {Error} after `withinMs`
 */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  withinMs = hangsAfterMs,
): Promise<number> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < withinMs) {
    if (await condition()) return performance.now() - startedAt;
    await delay(20);
  }
  throw new Error(`Not within ${withinMs} ms: ${what}.`);
}
