import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { constants } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { env } from "../env.ts";
import { createKey, signUp } from "../support/account.ts";
import { holdLocks } from "../support/inspection.ts";
import { connectionTo, eventually, findPostmaster, isAlive } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { bareEnvironment, projectRoot, spawnNode } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";

// SIGTERM only to the process that a person or a supervisor starts.

let instance: TestInstance;
let started: ChildProcess | undefined;

beforeAll(async () => {
  instance = await createPreparedInstance({}, { deadlines: "product" });
});

afterEach(async () => {
  // After a passed test, no process is left.
  if (!started || hasExited(started)) return;
  const exited = once(started, "close");
  // SIGTERM, so that Postgres stops too. To the group, because `unshare` blocks the signal.
  process.kill(-pidOf(started), "SIGTERM");
  await exited;
});

afterAll(async () => {
  await instance?.close();
});

const npx = ["npx", "-y", "pnpm@12", "start"];
const server = [process.execPath, "apps/api/src/main.ts"];

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** @throws an Error if the process was not started: a signal to process 0 would end the tests. */
function pidOf({ pid, spawnfile }: ChildProcess): number {
  if (pid === undefined) throw new Error(`${spawnfile} was not started.`);
  return pid;
}

/**
 * Starts a command and waits until its server is ready. Returns the base URL. The command leads a process group, so
 * that no signal to its group reaches the tests.
 */
async function start([file = "", ...args]: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(file, args, {
    cwd: projectRoot,
    env: { ...bareEnvironment, HOME: env.home, PORT: "0", DATA_DIR: instance.dataDirectory },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  started = child;
  child.stderr?.resume();
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    const url = /Latchkey .* is ready at (\S+)/.exec(line)?.[1];
    if (!url) continue;
    child.stdout.resume();
    return { child, url };
  }
  throw new Error(`It ended before it was ready:\n${lines.join("\n")}`);
}

/** All descendants of this process. */
async function listDescendants(pid: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  const processes = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const below = (parent: number): number[] =>
    processes.flatMap(([child = 0, of]) => (of === parent ? [child, ...below(child)] : []));
  return below(pid);
}

let people = 0;

interface Reply {
  readonly status: number | undefined;
  /** From the headers of the request to the end of the response, in milliseconds. */
  readonly tookMs: number;
}

/** The shortest time after which a request can get 503 because of a deadline, in milliseconds. */
const earliestDeadlineMs = 1_400;

/** Sends the headers of a request, and its body later. */
async function beginRequest(url: string): Promise<{ finish: () => Promise<Reply> }> {
  people += 1;
  const account = await signUp(url, `person-${people}@example.com`);
  const { key } = await createKey(url, account, "in flight");
  const body = JSON.stringify({ name: "In flight" });
  const outgoing = request(`${url}/open/workspaces`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      Expect: "100-continue",
    },
  });
  const answered = once(outgoing, "response");
  const startedAt = performance.now();
  outgoing.flushHeaders();
  // The server has received the headers and waits for the body.
  await once(outgoing, "continue");
  return {
    async finish() {
      outgoing.end(body);
      const [response] = await answered;
      await text(response);
      return { status: response.statusCode, tookMs: performance.now() - startedAt };
    },
  };
}

async function isListening(url: string): Promise<boolean> {
  return await fetch(`${url}/healthz`, { headers: { Connection: "close" } }).then(
    () => true,
    () => false,
  );
}

/**
 * Expects that SIGTERM to `pid` stops everything: the request is answered, Postgres is shut down, no process is
 * left.
 */
async function expectCleanStop(url: string, pid: number, exited: Promise<unknown>): Promise<void> {
  const descendants = await listDescendants(pid);
  const inFlight = await beginRequest(url);
  process.kill(pid, "SIGTERM");
  await eventually("the server stops listening", async () => !(await isListening(url)));
  const { status, tookMs } = await inFlight.finish();
  // On a busy machine, the node stops listening so late that the request gets 503 at its deadline.
  expect(tookMs < earliestDeadlineMs ? [201] : [201, 503]).toContain(status);
  await exited;
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
  const log = await readFile(join(instance.cluster, "postgres.log"), "utf8");
  expect(log.trimEnd().split("\n").at(-1)).toContain("database system is shut down");
  expect(descendants.length).toBeGreaterThan(0);
  await eventually("every process has ended", async () =>
    (await Promise.all(descendants.map(isAlive))).every((alive) => !alive),
  );
}

test.each([
  ["npx", npx],
  ["the command for supervisors", server],
])(
  "SIGTERM to %s alone answers what is in flight, stops Postgres and leaves no process",
  async (_what, command) => {
    const { child, url } = await start(command);
    const exited = once(child, "close");
    await expectCleanStop(url, pidOf(child), exited);
    expect(await exited).toEqual([0, null]);
  },
);

const isRoot = process.getuid?.() === 0;
const namespace = [
  ...["unshare", ...(isRoot ? [] : ["--user", "--map-current-user"])],
  ...["--pid", "--fork", "--mount-proc", "--kill-child"],
];

const [unshare = "", ...unshareArguments] = namespace;
const canUnshare = await promisify(execFile)(unshare, [...unshareArguments, "true"]).then(
  () => true,
  () => false,
);
/** How these tests run a command. Their names say it, so that a report shows what a machine without namespaces hasn't tested. */
const role = canUnshare
  ? "as process 1 of a container"
  : "as an ordinary process, because this machine permits no namespaces";

/** The command line that runs a command as process 1 of a namespace, as in a container; the command itself if that isn't permitted. */
function inNamespace(command: readonly string[]): readonly string[] {
  return canUnshare ? [...namespace, ...command] : command;
}

/** The process ID of a command that was started with `inNamespace`. */
async function findContained(child: ChildProcess): Promise<number> {
  // Process 1 of the namespace is the child of `unshare`.
  const [first] = canUnshare ? await listDescendants(pidOf(child)) : [pidOf(child)];
  if (first === undefined) throw new Error("The namespace has no process.");
  return first;
}

test.each([
  ["npx", npx],
  ["the command for supervisors", server],
])(`so does SIGTERM to %s ${role}`, async (_what, command) => {
  const { child, url } = await start(inNamespace(command));
  const exited = once(child, "close");
  await expectCleanStop(url, await findContained(child), exited);
  expect(await exited).toEqual([0, null]);
});

test(`an interrupted command fails ${role}`, async () => {
  const node = await instance.start();
  onTestFinished(async () => void (await node.stop()));
  const { user, password, host } = await connectionTo(instance.cluster);
  // The backup waits for this lock before its snapshot.
  const locks = await holdLocks(
    await connectionTo(instance.cluster),
    "lock table audit_events in access exclusive mode",
  );
  onTestFinished(locks.release);
  const path = join(instance.directory, "interrupted.backup");
  const [file = "", ...args] = inNamespace([
    process.execPath,
    ...["apps/api/src/cli/latchkey.ts", "backup", path],
  ]);
  // With a URL, because the PID in the file of the embedded Postgres belongs to another namespace.
  const url = `postgres://${user}:${encodeURIComponent(password)}@${encodeURIComponent(host)}/latchkey`;
  const child = spawn(file, args, {
    cwd: projectRoot,
    env: { ...bareEnvironment, DATABASE_URL: url },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  started = child;
  const exited = once(child, "close");
  const errors = text(child.stderr);
  await eventually("the backup is written", async () => existsSync(`${path}.partial`) || hasExited(child));
  if (!hasExited(child)) process.kill(await findContained(child), "SIGTERM");
  // The kernel discards a signal that process 1 doesn't handle, so it exits with the status that shells give a terminated process.
  expect(await exited, await errors).toEqual(
    canUnshare ? [128 + constants.signals.SIGTERM, null] : [null, "SIGTERM"],
  );
  expect(existsSync(`${path}.partial`)).toBe(false);
});

test("SIGTERM stops a node, and its Postgres, after the readers of its output have ended", async () => {
  const unread = await createTestInstance();
  const port = String(await findFreePort());
  const child = spawnNode({ DATA_DIR: unread.dataDirectory, PORT: port }, { leadsGroup: true });
  started = child;
  const exited = once(child, "exit");
  try {
    // Before it reports that it has created a database and is ready.
    child.stdout?.destroy();
    child.stderr?.destroy();
    const hasStarted = () => isListening(`http://127.0.0.1:${port}`);
    await eventually("the node listens", async () => hasExited(child) || (await hasStarted()));
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    expect(await findPostmaster(unread.cluster)).toBeUndefined();
  } finally {
    // A node that still runs would start Postgres again while the directory is deleted.
    if (!hasExited(child)) child.kill("SIGTERM");
    await exited;
    await unread.close();
  }
});
