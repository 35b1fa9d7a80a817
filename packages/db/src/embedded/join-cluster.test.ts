import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, chown, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { closeAfterTest, makeDirectory, serverPid } from "./embedded-postgres.test-kit.ts";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";
import { readPidFile } from "./server-process.ts";

// Waits for a Postgres that isn't available, and pid files that aren't those of a running Postgres.

/** Creates a cluster that no process uses. */
async function createStopped(): Promise<{ dataDirectory: string; cluster: string }> {
  const dataDirectory = await makeDirectory();
  await closeAfterTest(await openEmbeddedPostgres({ dataDirectory })).close();
  return { dataDirectory, cluster: join(dataDirectory, "postgres") };
}

/** Writes a file of a cluster as the user that runs Postgres. */
async function write(cluster: string, name: string, text: string): Promise<void> {
  const { uid, gid } = await stat(cluster);
  await writeFile(join(cluster, name), text, { mode: 0o600 });
  await chown(join(cluster, name), uid, gid);
}

/** Waits until a start has logged a text. */
async function waitForLog(cluster: string, text: string): Promise<void> {
  const read = () => readFile(join(cluster, "postgres.log"), "utf8");
  await expect.poll(read, { timeout: 30_000 }).toContain(text);
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
/** The wait is 60 s without a signal. It ends within two seconds on a machine that isn't busy. */
const maxAbortMs = 20_000;

test("a signal ends the wait for a recovery, and stops the Postgres that was started for it", async () => {
  const { dataDirectory, cluster } = await createStopped();
  // Recovers until it is promoted, and accepts no connections.
  await appendFile(join(cluster, "postgresql.conf"), "hot_standby = off\n");
  await write(cluster, "standby.signal", "");
  const { abort } = startOpening(dataDirectory);
  await waitForLog(cluster, "entering standby mode");
  const { outcome, tookMs } = await abort();
  expect(outcome).toEqual(isAbort);
  expect(tookMs).toBeLessThan(maxAbortMs);
  expect(await serverPid(dataDirectory)).toBeUndefined();
}, 90_000);

test("a signal ends the wait for a Postgres that doesn't answer", async () => {
  const { dataDirectory, cluster } = await createStopped();
  const silentServer = createServer((socket) => socket.on("error", () => undefined));
  silentServer.listen(join(cluster, ".s.PGSQL.5432"));
  onTestFinished(() => void silentServer.close());
  await once(silentServer, "listening");
  const { abort } = startOpening(dataDirectory);
  await once(silentServer, "connection");
  const { outcome, tookMs } = await abort();
  expect(outcome).toEqual(isAbort);
  // Less than the 10 s for which an attempt to connect waits.
  expect(tookMs).toBeLessThan(8_000);
  expect(await serverPid(dataDirectory)).toBeUndefined();
}, 90_000);

test("a signal that comes before the start, or after Postgres has answered, leaves no Postgres either", async () => {
  const { dataDirectory } = await createStopped();
  const early = startOpening(dataDirectory);
  expect((await early.abort()).outcome).toEqual(isAbort);
  expect(await serverPid(dataDirectory)).toBeUndefined();
  const late = startOpening(dataDirectory);
  await expect.poll(() => serverPid(dataDirectory), { timeout: 30_000, interval: 1 }).toBeDefined();
  if ((await late.abort()).outcome === "opened") await (await late.opening).close();
  expect(await serverPid(dataDirectory)).toBeUndefined();
}, 90_000);

test("an empty pid file, as while another Postgres writes it, delays a start and nothing more", async () => {
  const { dataDirectory, cluster } = await createStopped();
  await write(cluster, "postmaster.pid", "");
  const { opening } = startOpening(dataDirectory);
  await waitForLog(cluster, 'lock file "postmaster.pid" is empty');
  await rm(join(cluster, "postmaster.pid"));
  expect((await opening).kind).toBe("started");
}, 90_000);

test("a pid file counts once its first line is complete", async () => {
  const { cluster } = await createStopped();
  for (const part of ["", "1", "12", "-12\n", "twelve\n"]) {
    await write(cluster, "postmaster.pid", part);
    expect(await readPidFile(cluster)).toBeUndefined();
  }
  await write(cluster, "postmaster.pid", "12\n");
  expect(await readPidFile(cluster)).toEqual({ pid: 12, status: "" });
  await write(cluster, "postmaster.pid", `12\n${cluster}\n1\n5432\n.\n\n1 2\nready   \n`);
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
  await write(cluster, "postmaster.pid", `${starting.pid}\n${cluster}\n1\n5432\n.\n\n`);
  const { opening } = startOpening(dataDirectory);
  await waitForLog(cluster, 'lock file "postmaster.pid" already exists');
  expect(await serverPid(dataDirectory)).toBe(starting.pid);
  starting.stdin.end();
  expect((await opening).kind).toBe("started");
}, 90_000);

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
  await expect.poll(readState, { timeout: 30_000 }).toMatch(/\nState:\tZ/);
  await write(cluster, "postmaster.pid", `${zombie}\n${cluster}\n1\n5432\n.\n\n`);
  expect((await startOpening(dataDirectory).opening).kind).toBe("started");
}, 90_000);
