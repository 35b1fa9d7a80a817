import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { measureSlowest } from "../testing/measure-slowest.ts";
import { getBinaries } from "./binaries.ts";
import { readSuperuserConnection } from "./cluster-connection.ts";
import { findClusterLocation } from "./cluster-location.ts";
import {
  closeAfterTest,
  copyStoppedCluster,
  prolongRecovery,
  serverPid,
  waitForLog,
  writeInCluster,
} from "./embedded-postgres.test-kit.ts";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";
import { type Cluster, joinCluster } from "./join-cluster.ts";
import { readPidFile, stopServer } from "./server-process.ts";

// Waits for a Postgres that isn't available, and pid files that aren't those of a running Postgres.

/** Creates a cluster that no process uses. */
async function createStopped(): Promise<{ dataDirectory: string; cluster: string }> {
  const dataDirectory = await copyStoppedCluster();
  return { dataDirectory, cluster: join(dataDirectory, "postgres") };
}

/** What `joinCluster` needs for a cluster, to call it with another limit of the wait. */
async function prepareToJoin(dataDirectory: string): Promise<Cluster> {
  const location = await findClusterLocation(dataDirectory);
  const binaries = await getBinaries(location.account);
  return { location, binaries, superuser: await readSuperuserConnection(location.cluster) };
}

/** Opens a data directory and returns how that ended, and a function that ends the wait. */
function startOpening(dataDirectory: string) {
  const stopping = new AbortController();
  const opening = openEmbeddedPostgres({ dataDirectory, signal: stopping.signal }).then(closeAfterTest);
  const outcome = opening.then(
    () => "opened",
    (error: unknown) => error,
  );
  /** Returns how the start ended, and how long that took, in milliseconds. */
  const abort = async () => {
    const startedAt = performance.now();
    stopping.abort();
    return { outcome: await outcome, tookMs: performance.now() - startedAt };
  };
  return { opening, abort };
}

const isAbort = expect.objectContaining({ name: "AbortError" });
/** Without a signal, the wait for a recovery has no limit. With one, it ends within two seconds on a machine that isn't busy. */
const maxAbortMs = 20_000;

test("a signal ends the wait for a recovery, and stops the Postgres that was started for it", async () => {
  const { dataDirectory, cluster } = await createStopped();
  await prolongRecovery(cluster);
  const { abort } = startOpening(dataDirectory);
  await waitForLog(cluster, "entering standby mode");
  const { outcome, tookMs } = await abort();
  expect(outcome).toEqual(isAbort);
  expect(tookMs).toBeLessThan(maxAbortMs);
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

/** Creates a cluster whose recovery doesn't end by itself. When the test ends, `signal` aborts, and Postgres is stopped. */
async function prepareRecovering() {
  const { dataDirectory, cluster } = await createStopped();
  await prolongRecovery(cluster);
  const prepared = await prepareToJoin(dataDirectory);
  const stopping = new AbortController();
  onTestFinished(() => stopServer(prepared.location));
  onTestFinished(() => stopping.abort());
  return { dataDirectory, cluster, prepared, signal: stopping.signal };
}

test("a recovery may take longer than the limit of the wait, for the process that started Postgres and for others", async () => {
  const { dataDirectory, cluster, prepared, signal } = await prepareRecovering();
  const join = async () => {
    const reported = Promise.withResolvers<void>();
    // The limit has passed at each attempt after the first.
    const limits = { joinWithinMs: 1, reportAfterMs: 200, signal };
    const joining = joinCluster(prepared, { ...limits, onStarting: reported.resolve });
    joining.catch(() => undefined); // If an earlier assertion fails, nobody waits for it.
    await Promise.race([reported.promise, joining]);
    return { joining };
  };
  const starter = await join();
  await waitForLog(cluster, "entering standby mode");
  const other = await join();
  await writeInCluster(cluster, "promote", "");
  const pid = await serverPid(dataDirectory);
  if (pid) process.kill(pid, "SIGUSR1");
  const [started, found] = await Promise.all([starter.joining, other.joining]);
  expect([started.server?.pid, found.server]).toEqual([pid, undefined]);
  await Promise.all([started.presence.end(), found.presence.end()]);
});

test("a Postgres that another process stopped while it was starting is started again", async () => {
  const { dataDirectory, cluster, prepared, signal } = await prepareRecovering();
  const joining = joinCluster(prepared, { signal });
  joining.catch(() => undefined); // If an earlier assertion fails, nobody waits for it.
  await waitForLog(cluster, "entering standby mode");
  const stopped = await serverPid(dataDirectory);
  // The next start then recovers without waiting to be promoted.
  await rm(join(cluster, "standby.signal"));
  await stopServer(prepared.location);
  const { presence, server } = await joining;
  expect(stopped).toBeDefined();
  expect(server?.pid).toBe(await serverPid(dataDirectory));
  expect(server?.pid).not.toBe(stopped);
  await presence.end();
});

test("the wait for a Postgres that another process is about to stop has a limit", async () => {
  const { dataDirectory } = await createStopped();
  const prepared = await prepareToJoin(dataDirectory);
  const { presence } = await joinCluster(prepared);
  onTestFinished(() => stopServer(prepared.location));
  expect(await presence.leave()).toBe(true);
  await expect(joinCluster(prepared, { joinWithinMs: 100 })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringContaining("it is being stopped"),
  });
});

test("so has the wait for a Postgres that shuts down, and for one that can't be started because of another", async () => {
  const { dataDirectory, cluster } = await createStopped();
  const prepared = await prepareToJoin(dataDirectory);
  const { presence, server } = await joinCluster(prepared);
  onTestFinished(() => stopServer(prepared.location));
  // A smart shutdown, which waits for the end of the presence.
  if (server?.pid) process.kill(server.pid, "SIGTERM");
  const readStatus = async () => (await readPidFile(cluster))?.status;
  await expect.poll(readStatus).toBe("stopping");
  await expect(joinCluster(prepared, { joinWithinMs: 100 })).rejects.toMatchObject({
    message: expect.stringContaining("the database system is shutting down"),
  });
  await presence.end();
  await server?.exited;
  await writeInCluster(cluster, "postmaster.pid", "");
  await expect(joinCluster(prepared, { joinWithinMs: 100 })).rejects.toMatchObject({
    message: expect.stringContaining('lock file "postmaster.pid" is empty'),
  });
});

test("a start that fails leaves no Postgres behind", async () => {
  const { dataDirectory, cluster } = await createStopped();
  await writeFile(join(cluster, "pg_hba.conf"), "local all all reject\n");
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringContaining("rejects its superuser"),
  });
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("a signal ends the wait for a Postgres that doesn't answer", async () => {
  const { dataDirectory, cluster } = await createStopped();
  const silentServer = createServer((socket) => socket.on("error", () => undefined));
  silentServer.listen(join(cluster, ".s.PGSQL.5432"));
  onTestFinished(() => void silentServer.close());
  await once(silentServer, "listening");
  const { abort } = startOpening(dataDirectory);
  await once(silentServer, "connection");
  const stopMeasuring = measureSlowest(async () => undefined);
  const { outcome, tookMs } = await abort();
  expect(outcome).toEqual(isAbort);
  // Less than the 10 s for which an attempt to connect waits, plus the longest delay by a busy machine.
  expect(tookMs).toBeLessThan(8_000 + (await stopMeasuring()));
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("a signal that comes before the start, or after Postgres has answered, leaves no Postgres either", async () => {
  const { dataDirectory } = await createStopped();
  const early = startOpening(dataDirectory);
  expect((await early.abort()).outcome).toEqual(isAbort);
  expect(await serverPid(dataDirectory)).toBeUndefined();
  const late = startOpening(dataDirectory);
  await expect.poll(() => serverPid(dataDirectory), { interval: 1 }).toBeDefined();
  if ((await late.abort()).outcome === "opened") await (await late.opening).close();
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("an empty pid file, as while another Postgres writes it, delays a start and nothing more", async () => {
  const { dataDirectory, cluster } = await createStopped();
  await writeInCluster(cluster, "postmaster.pid", "");
  const { opening } = startOpening(dataDirectory);
  await waitForLog(cluster, 'lock file "postmaster.pid" is empty');
  await rm(join(cluster, "postmaster.pid"));
  expect((await opening).kind).toBe("started");
});

test("a pid file counts once its first line is complete", async () => {
  const { cluster } = await createStopped();
  for (const part of ["", "1", "12", "-12\n", "twelve\n"]) {
    await writeInCluster(cluster, "postmaster.pid", part);
    expect(await readPidFile(cluster)).toBeUndefined();
  }
  await writeInCluster(cluster, "postmaster.pid", "12\n");
  expect(await readPidFile(cluster)).toEqual({ pid: 12, status: "" });
  await writeInCluster(cluster, "postmaster.pid", `12\n${cluster}\n1\n5432\n.\n\n1 2\nready   \n`);
  expect(await readPidFile(cluster)).toEqual({ pid: 12, status: "ready" });
});

test("a process that is about to become the cluster's Postgres isn't ignored if it has the ID in a stale pid file", async () => {
  const { dataDirectory, cluster } = await createStopped();
  const { uid, gid } = await stat(cluster);
  // The shell of another start, before it executes Postgres.
  const starting = spawn("/bin/sh", ["-c", "read line", "sh", "postgres", "-D", cluster], {
    uid,
    gid,
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void starting.kill());
  await once(starting, "spawn");
  await writeInCluster(cluster, "postmaster.pid", `${starting.pid}\n${cluster}\n1\n5432\n.\n\n`);
  const { opening } = startOpening(dataDirectory);
  await waitForLog(cluster, 'lock file "postmaster.pid" already exists');
  expect(await serverPid(dataDirectory)).toBe(starting.pid);
  starting.stdin.end();
  expect((await opening).kind).toBe("started");
});

test("a zombie with the ID in the pid file doesn't prevent a start", async () => {
  const { dataDirectory, cluster } = await createStopped();
  const { uid, gid } = await stat(cluster);
  // Its parent becomes `sleep`, which never waits for it. It is called postgres, like a Postgres that was killed.
  const script = 'cp /bin/sleep "$1/postgres"; "$1/postgres" 0 & echo $!; exec sleep 60';
  const parent = spawn("/bin/sh", ["-c", script, "sh", cluster], {
    uid,
    gid,
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill());
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const zombie = Number(String(line));
  const readState = () => readFile(`/proc/${zombie}/status`, "utf8");
  await expect.poll(readState).toMatch(/\nState:\tZ/);
  await writeInCluster(cluster, "postmaster.pid", `${zombie}\n${cluster}\n1\n5432\n.\n\n`);
  expect((await startOpening(dataDirectory).opening).kind).toBe("started");
});
