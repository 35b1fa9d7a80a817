import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { scratchDirectory } from "@latchkey/db/testing/scratch-directory";

export const projectRoot = resolve(import.meta.dirname, "../..");

/** A node of the product as a process of its own. */
export interface ProductNode {
  readonly baseUrl: string;
  readonly process: ChildProcess;
  readonly pid: number;
  /** From the start of the process until it said that it was ready. */
  readonly readyWithinMs: number;
  /** Everything it has printed so far, on both streams. */
  readonly output: () => string;
  /** Settles when it is gone: the exit status, null after a signal that it did not handle. */
  readonly exited: Promise<number | null>;
  /** Ends it, the polite way unless told otherwise, and waits until it is gone; the exit status. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** How a process that ends by itself ended. */
export interface Ending {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

export type Variables = Readonly<Record<string, string>>;

export interface SpawnOptions {
  /** Whether it can be signalled with all that it started. */
  readonly leadsGroup?: boolean;
  /** Told of each line that it prints. */
  readonly onLine?: (line: string) => void;
  /** The checkout that it is of; this one unless told. */
  readonly directory?: string;
}

/** What a process of ours needs of the environment; nothing else leaks in from whoever runs the tests. */
export const bareEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C.UTF-8" } as const;

/** One that the nodes of one database can share. */
export const authSecret = "a secret for tests, which is no secret at all";

const readyLine = /Latchkey .* is ready at (\S+)/;
const startTimeoutMs = 60_000;
const runTimeoutMs = 30_000;

/**
 * Starts a node with these variables, on a free port unless they name one, and waits until it says that it is ready.
 * @throws an Error with its output when it ends first, or says nothing for 60 s.
 */
export async function startNode(variables: Variables, options: SpawnOptions = {}): Promise<ProductNode> {
  const startedAt = performance.now();
  const child = spawnNode(variables, options);
  const exited = once(child, "close").then(([status]) => status as number | null); // Node's own type for this event.
  const lines: string[] = [];
  const output = (): string => lines.join("\n");
  const baseUrl = await new Promise<string>((found, failed) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      failed(new Error(`Not ready in time:\n${output()}`));
    }, startTimeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        options.onLine?.(line);
        const address = readyLine.exec(line)?.[1];
        if (address) found(address);
        if (address) clearTimeout(timer);
      });
    }
    exited.then((status) => {
      clearTimeout(timer);
      failed(new Error(`It ended with status ${status}:\n${output()}`));
    }, failed);
  });
  return {
    baseUrl,
    process: child,
    pid: child.pid ?? Number.NaN,
    readyWithinMs: performance.now() - startedAt,
    output,
    exited,
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return await exited;
    },
  };
}

/** How long a node may take to be ready on a database that exists, while other tests use the processors; 2 s alone. */
export const readyAgainWithinMs = 30_000;

/** Starts a node without waiting for anything. */
export function spawnNode(variables: Variables, options: SpawnOptions = {}): ChildProcess {
  const { leadsGroup = false, directory = projectRoot } = options;
  return spawn(process.execPath, [join(directory, "apps/api/src/main.ts")], {
    cwd: directory,
    // Tests sign up dozens of people from one address.
    env: { ...bareEnvironment, PORT: "0", MAX_SIGN_UPS_PER_HOUR: "9999", ...variables },
    stdio: ["ignore", "pipe", "pipe"],
    detached: leadsGroup,
  });
}

/** Starts a node that is expected to end by itself; one that does not is killed after 30 s, its status null. */
export async function runNode(variables: Variables): Promise<Ending> {
  return await collect(spawnNode(variables));
}

/** Runs the `latchkey` command, with `input` on its standard input. */
export async function runCommand(args: readonly string[], variables: Variables, input = ""): Promise<Ending> {
  const child = spawnCommand(args, variables);
  // Who was misused ends without reading.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return await collect(child);
}

/** Starts the `latchkey` command without waiting for it. */
export function spawnCommand(args: readonly string[], variables: Variables): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [join(projectRoot, "apps/api/src/cli/latchkey.ts"), ...args], {
    cwd: projectRoot,
    env: { ...bareEnvironment, ...variables },
  });
}

async function collect(child: ChildProcess): Promise<Ending> {
  const startedAt = performance.now();
  const timer = setTimeout(() => child.kill("SIGKILL"), runTimeoutMs);
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map((pipe) => pipe && text(pipe)));
  const [status] = await closed;
  clearTimeout(timer);
  return { status, stdout: stdout ?? "", stderr: stderr ?? "", tookMs: performance.now() - startedAt };
}

/** A fresh directory below `parent` that any user of the machine may pass through, as the embedded Postgres must for root. */
export async function createDirectory(parent = scratchDirectory): Promise<string> {
  const directory = await mkdtemp(join(parent, "latchkey-test-"));
  await chmod(directory, 0o755);
  return directory;
}
