import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import type { ClusterLocation } from "./cluster-location.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { programEnvironment, runProgram } from "./run-program.ts";
import { findLastFailure, logPath, rotateLog } from "./server-log.ts";
import { createSocketDirectory, socketDirectoryOf } from "./socket-directory.ts";

/** A Postgres that this process started. */
export interface ServerProcess {
  readonly pid: number | undefined;
  readonly hasExited: () => boolean;
  /** Whether it ended because a process asked it to shut down. */
  readonly wasStopped: () => boolean;
  /** Settles when the process has ended. */
  readonly exited: Promise<void>;
  /** Why it ended, from its log. */
  readonly findFailure: () => Promise<string>;
  /** Requests a fast shutdown, even during recovery. */
  readonly interrupt: () => void;
}

/** How long a fast shutdown may take. */
export const stopWithinMilliseconds = 60_000;

/**
 * Settings that apply whatever postgresql.conf says. Errors are sent only to the client and not logged, because their
 * text quotes values.
 */
const fixedSettings = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  logging_collector: "off",
  log_destination: "stderr",
  log_statement: "none",
  log_duration: "off",
  log_min_duration_statement: "-1",
  log_min_duration_sample: "-1",
  log_transaction_sample_rate: "0",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
};

/**
 * Starts Postgres in its own session, so that it doesn't receive signals to our process group. It stays our child
 * process: where nothing reaps orphans (a container without an init), an orphan would remain as a zombie, and Postgres
 * would take the zombie for a running owner of the cluster.
 */
export async function startServer(location: ClusterLocation, binaries: Binaries): Promise<ServerProcess> {
  const { account, cluster } = location;
  await createSocketDirectory(cluster, account);
  const socketDirectory = socketDirectoryOf(cluster);
  const settings = {
    ...fixedSettings,
    port: "5432",
    // Relative to the cluster, because the setting is a list: a path with a comma would be split.
    unix_socket_directories: socketDirectory === cluster ? "." : socketDirectory,
  };
  const log = logPath(cluster);
  await rotateLog(location);
  const logStart = (await stat(log).catch(() => undefined))?.size ?? 0;
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  // The shell opens the log as the account: root must not follow a link that another user created.
  const script = 'umask 077; log=$1; shift; exec "$@" >>"$log" 2>&1';
  const child = spawn("/bin/sh", ["-c", script, "sh", log, binaries.postgres, "-D", cluster, ...args], {
    ...(account && { uid: account.uid, gid: account.gid }),
    cwd: "/",
    detached: true,
    // Postgres ignores a pid file with this process ID. pg_ctl sets the variable for the same purpose.
    env: { ...programEnvironment, PG_GRANDPARENT_PID: String(await findIgnoredPid(cluster)) },
    stdio: "ignore",
  });
  child.unref();
  const exited = once(child, "exit").then(
    () => {},
    () => {},
  );
  const hasExited = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const wasStopped = () => child.exitCode === 0;
  const findFailure = () => findLastFailure(log, { pid: child.pid, from: logStart });
  // By its handle, because the pid file can be that of another process's Postgres.
  const interrupt = () => void child.kill("SIGINT");
  return { pid: child.pid, hasExited, wasStopped, exited, findFailure, interrupt };
}

/**
 * The process ID to ignore in the pid file. After a container was killed and started again, its process IDs are
 * assigned anew, and a stale pid file can name a thread or any other process, which Postgres would take for the owner
 * of the cluster. A running postmaster is a process called "postgres", and is never ignored. Neither is a process with
 * the cluster on its command line: the shell of another start, which can have the ID in a stale pid file, is about to
 * become the postmaster, and two postmasters must not run on one cluster. A zombie has released all of its resources.
 */
async function findIgnoredPid(cluster: string): Promise<number> {
  const pid = (await readPidFile(cluster))?.pid;
  const status = pid && (await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined));
  if (!status) return process.ppid;
  const isThread = !status.includes(`\nTgid:\t${pid}\n`);
  const isZombie = status.includes("\nState:\tZ");
  if (isThread || isZombie) return pid;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const canBePostmaster = status.startsWith("Name:\tpostgres\n") || command.split("\0").includes(cluster);
  return canBePostmaster ? process.ppid : pid;
}

/**
 * Stops the Postgres of a cluster and ends its sessions, whichever process started it. Settles when it has ended. Call
 * it only if Postgres is known to run.
 * @throws EmbeddedPostgresError `stop-failed` after 60 s
 */
export async function stopServer({ account, cluster }: ClusterLocation): Promise<void> {
  const running = await readPidFile(cluster);
  if (!running) return;
  // SIGINT requests a fast shutdown. pg_ctl isn't used: it fails if the path to the cluster has become inaccessible,
  // and it also waits for the end of a successor. Runs as the account, because the account can write any process ID to
  // the file.
  const kill = await runProgram("/bin/sh", ["-c", 'kill -INT "$1"', "sh", String(running.pid)], { account });
  const bound = AbortSignal.timeout(stopWithinMilliseconds);
  while (!bound.aborted) {
    if ((await readPidFile(cluster))?.pid !== running.pid) return;
    await delay(20);
  }
  throw new EmbeddedPostgresError(
    "stop-failed",
    `The embedded Postgres did not stop (${kill.output}); its log is ${logPath(cluster)}.`,
  );
}

/**
 * Reads what Postgres wrote to its pid file. `status` is `ready`, `starting` or `stopping`. Returns undefined if there is
 * no file, or as long as its first line isn't complete: a part of a process ID would be the ID of another process.
 */
export async function readPidFile(cluster: string): Promise<{ pid: number; status: string } | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => undefined);
  const [, pid] = /^(\d+)\n/.exec(text ?? "") ?? [];
  if (text === undefined || pid === undefined) return undefined;
  return { pid: Number(pid), status: text.split("\n")[7]?.trim() ?? "" };
}
