import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import type { ClusterPlace } from "./cluster-place.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { programEnvironment, runProgram } from "./run-program.ts";
import { findLastFailure, logPath, rotateLog } from "./server-log.ts";
import { createSocketDirectory, socketDirectoryOf } from "./socket-directory.ts";

/** A Postgres that this process started. */
export interface ServerProcess {
  readonly pid: number | undefined;
  readonly hasExited: () => boolean;
  /** Settles when the process is gone. */
  readonly exited: Promise<void>;
  /** Why it ended, from its log. */
  readonly findFailure: () => Promise<string>;
}

const stopWithinMilliseconds = 60_000;

/** What must hold whatever postgresql.conf says. Errors go to the client alone: their text quotes values. */
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
 * Starts Postgres in a session of its own, so that a signal to our process group spares it. It is our
 * child all the same: where nothing else reaps orphans (a container without an init), one left to it would
 * stay as a zombie that Postgres takes for a living owner of the cluster.
 */
export async function startServer(place: ClusterPlace, binaries: Binaries): Promise<ServerProcess> {
  const { account, cluster } = place;
  await createSocketDirectory(cluster, account);
  const socketDirectory = socketDirectoryOf(cluster);
  const settings = {
    ...fixedSettings,
    port: "5432",
    // Relative to the cluster: the setting is a list, in which a path with a comma would be two.
    unix_socket_directories: socketDirectory === cluster ? "." : socketDirectory,
  };
  const log = logPath(cluster);
  await rotateLog(place);
  const logStart = (await stat(log).catch(() => undefined))?.size ?? 0;
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  // The shell opens the log as the account itself: root must not follow what another user put there.
  const script = 'umask 077; log=$1; shift; exec "$@" >>"$log" 2>&1';
  const child = spawn("/bin/sh", ["-c", script, "sh", log, binaries.postgres, "-D", cluster, ...args], {
    ...(account && { uid: account.uid, gid: account.gid }),
    cwd: "/",
    detached: true,
    // A stale pid file may name our parent after a restart of a container; pg_ctl says the same this way.
    env: { ...programEnvironment, PG_GRANDPARENT_PID: String(process.ppid) },
    stdio: "ignore",
  });
  child.unref();
  const exited = once(child, "exit").then(
    () => {},
    () => {},
  );
  const hasExited = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const findFailure = () => findLastFailure(log, { pid: child.pid, from: logStart });
  return { pid: child.pid, hasExited, exited, findFailure };
}

/**
 * Stops the Postgres of a cluster, whoever started it, ending its sessions; settles when it is gone. Only
 * for who knows that it runs.
 * @throws EmbeddedPostgresError `stop-failed` after 60 s
 */
export async function stopServer({ account, cluster }: ClusterPlace): Promise<void> {
  const running = await readPidFile(cluster);
  if (!running) return;
  // SIGINT is the fast shutdown. Not pg_ctl: it fails where the way to the cluster was closed meanwhile, and
  // goes on to wait for the end of a successor. As the account: the file is its own to write.
  const asked = await runProgram("/bin/sh", ["-c", 'kill -INT "$1"', "sh", String(running.pid)], { account });
  const bound = AbortSignal.timeout(stopWithinMilliseconds);
  while (!bound.aborted) {
    if ((await readPidFile(cluster))?.pid !== running.pid) return;
    await delay(20);
  }
  throw new EmbeddedPostgresError(
    "stop-failed",
    `The embedded Postgres did not stop (${asked.output}); its log is ${logPath(cluster)}.`,
  );
}

/** What Postgres says of itself in its pid file: `status` is `ready`, `starting` or `stopping`. */
export async function readPidFile(cluster: string): Promise<{ pid: number; status: string } | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => undefined);
  if (!text) return undefined;
  const lines = text.split("\n");
  return { pid: Number(lines[0]), status: lines[7]?.trim() ?? "" };
}
