import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  chmod,
  chown,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, inject, onTestFinished } from "vitest";
import { copyData } from "../testing/copy-data.ts";
import { scratchDirectory } from "../testing/scratch-directory.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";
import { readPidFile } from "./server-process.ts";

/** Whether the tests run as root, whose Postgres runs as another user. */
export const isRoot = process.getuid?.() === 0;

/** Creates a directory in `parent` that everyone may enter. It is removed when the test ends. */
export async function makeDirectory(parent = scratchDirectory): Promise<string> {
  const directory = await realpath(await mkdtemp(join(parent, "latchkey-test-")));
  await chmod(directory, 0o755);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Creates a data directory with a cluster that no process uses. It is removed when the test ends. */
export async function copyStoppedCluster(parent?: string): Promise<string> {
  const dataDirectory = await makeDirectory(parent);
  await copyData(inject("stoppedCluster"), dataDirectory);
  return dataDirectory;
}

/** Closes the Postgres when the test ends, even if the test fails. */
export function closeAfterTest(postgres: EmbeddedPostgres): EmbeddedPostgres {
  onTestFinished(() => postgres.close());
  return postgres;
}

/** Runs one statement on a separate connection and returns its rows. */
export async function query<Row extends object>(connection: ClusterConnection, sql: string): Promise<Row[]> {
  const client = new Client(connection);
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The pid of the cluster's Postgres; undefined if it is not running. */
export async function serverPid(home: string): Promise<number | undefined> {
  return (await readPidFile(join(home, "postgres")))?.pid;
}

/** Writes a file of a cluster as the user that runs Postgres. */
export async function writeInCluster(cluster: string, name: string, text: string): Promise<void> {
  const { uid, gid } = await stat(cluster);
  await writeFile(join(cluster, name), text, { mode: 0o600 });
  await chown(join(cluster, name), uid, gid);
}

/** Makes the next start of a cluster's Postgres recover, without accepting connections, until it is promoted. */
export async function prolongRecovery(cluster: string): Promise<void> {
  await appendFile(join(cluster, "postgresql.conf"), "hot_standby = off\n");
  await writeInCluster(cluster, "standby.signal", "");
}

/** Waits until a start has logged a text. */
export async function waitForLog(cluster: string, text: string): Promise<void> {
  const read = () => readFile(join(cluster, "postgres.log"), "utf8");
  await expect.poll(read).toContain(text);
}

/** Lists the remains of clusters that were not completed or that another process created first. */
export async function listIncompleteClusters(home: string): Promise<string[]> {
  return (await readdir(home)).filter((name) => name !== "postgres");
}

/** Another process that has the data directory's Postgres open. */
export interface Holder {
  readonly report: Pick<EmbeddedPostgres, "kind" | "location" | "copiedBinaries">;
  /** Makes the process close. Returns its exit code. */
  readonly finish: () => Promise<number | null>;
  /** Kills it and its whole process group with SIGKILL. */
  readonly kill: () => Promise<void>;
}

/** Starts a process that opens the data directory, and waits until it has. */
export async function startHolder(
  dataDirectory: string,
  script = fileURLToPath(new URL("hold-postgres.fixture.ts", import.meta.url)),
): Promise<Holder> {
  const child = spawn(process.execPath, [script, dataDirectory], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    if (child.pid && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), exited.then(() => ["{}"])]);
  return {
    report: JSON.parse(line),
    async finish() {
      child.stdin.end();
      await exited;
      return child.exitCode;
    },
    kill,
  };
}
