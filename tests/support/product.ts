import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { readProcessorMs } from "@latchkey/db/testing/processor-time";
import { scratchDirectory } from "@latchkey/db/testing/scratch-directory";
import { measureQueuedMs, readQueuedMs } from "./processor-queue.ts";

export const projectRoot = resolve(import.meta.dirname, "../..");

/** A Latchkey node as a separate process. */
export interface ProductNode {
  readonly baseUrl: string;
  readonly process: ChildProcess;
  readonly pid: number;
  /** The time from the start of the process until it was ready, in milliseconds. */
  readonly readyWithinMs: number;
  /** The processor time that it needed until then, in milliseconds, which a busy machine hardly changes. */
  readonly startProcessorMs: number;
  /** How long its main thread could run until then but waited for a processor, in milliseconds: the delay by a busy machine. */
  readonly startQueuedMs: number;
  /** Its output so far, of both streams. */
  readonly output: () => string;
  /** Settles with the exit status when the process has ended; null after a signal that it did not handle. */
  readonly exited: Promise<number | null>;
  /** Sends a signal, SIGTERM by default, and waits until the process has ended. Returns the exit status. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** How a process exited. */
export interface ProcessResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
  /** How long it was ready to run but waited for a processor, in milliseconds: the delay on a busy machine. */
  readonly queuedMs: number;
}

export type Variables = Readonly<Record<string, string>>;

export interface SpawnOptions {
  /** Whether it leads a process group, so that signals can reach all of its child processes. */
  readonly leadsGroup?: boolean;
  /** Called with each line that it prints. */
  readonly onLine?: (line: string) => void;
  /** The checkout that it runs from; this one by default. */
  readonly directory?: string;
  /**
   * The product's by default. Patient deadlines of 30 seconds are for tests that aren't about deadlines: on a busy machine, a node with
   * the product's deadlines responds with 503.
   */
  readonly deadlines?: "product" | "patient";
}

/** The environment variables that processes need. No others are inherited from the test run. */
export const bareEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C.UTF-8" } as const;

/** The environment variables of nodes, unless a test sets them. Tests sign up dozens of users from one IP address. */
export const nodeEnvironment = { ...bareEnvironment, PORT: "0", MAX_SIGN_UPS_PER_HOUR: "9999" } as const;

/** A value that all nodes of one database can share. */
export const authSecret = "a secret for tests, which is no secret at all";

const readyLine = /Latchkey .* is ready at (\S+)/;
/** Only end what hangs, on a busy machine too. */
const startTimeoutMs = 240_000;
const runTimeoutMs = 240_000;

/**
 * Starts a node with these variables, by default on a free port, and waits until it reports that it is ready.
 * @throws an Error with its output if it exits, or isn't ready after four minutes.
 */
export async function startNode(variables: Variables, options: SpawnOptions = {}): Promise<ProductNode> {
  const startedAt = performance.now();
  const child = spawnNode(variables, options);
  const exited = once(child, "close").then(([status]) => status as number | null); // Node's type for this event.
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
      failed(new Error(`It exited with status ${status}:\n${output()}`));
    }, failed);
  });
  return {
    baseUrl,
    process: child,
    pid: child.pid ?? Number.NaN,
    readyWithinMs: performance.now() - startedAt,
    startProcessorMs: readProcessorMs(child.pid),
    startQueuedMs: readQueuedMs(child.pid),
    output,
    exited,
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return await exited;
    },
  };
}

/** Starts a node without waiting for it. */
export function spawnNode(variables: Variables, options: SpawnOptions = {}): ChildProcess {
  const { leadsGroup = false, directory = projectRoot, deadlines = "product" } = options;
  const script = deadlines === "product" ? "src/main.ts" : "test/run-patient-node.ts";
  return spawn(process.execPath, [join(directory, "apps/api", script)], {
    cwd: directory,
    env: { ...nodeEnvironment, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
    detached: leadsGroup,
  });
}

/** Starts a node that is expected to exit. After four minutes, it is killed, and its status is null. */
export async function runNode(variables: Variables): Promise<ProcessResult> {
  return await collect(spawnNode(variables));
}

/**
 * Runs the `latchkey` command, with `input` on its standard input.
 * @param postmaster the process ID of the Postgres that the command uses. The waits of its sessions for a processor are then part
 *   of `queuedMs`.
 */
export async function runCommand(
  args: readonly string[],
  variables: Variables,
  { input = "", postmaster }: { readonly input?: string; readonly postmaster?: number } = {},
): Promise<ProcessResult> {
  const child = spawnCommand(args, variables);
  // A command that exits with a usage error doesn't read its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return await collect(child, postmaster);
}

/** Starts the `latchkey` command without waiting for it. */
export function spawnCommand(args: readonly string[], variables: Variables): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [join(projectRoot, "apps/api/src/cli/latchkey.ts"), ...args], {
    cwd: projectRoot,
    env: { ...bareEnvironment, ...variables },
  });
}

async function collect(child: ChildProcess, postmaster?: number): Promise<ProcessResult> {
  const startedAt = performance.now();
  const stopMeasuring = measureQueuedMs(child.pid, postmaster);
  const timer = setTimeout(() => child.kill("SIGKILL"), runTimeoutMs);
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map((pipe) => pipe && text(pipe)));
  const [status] = await closed;
  clearTimeout(timer);
  const [tookMs, queuedMs] = [performance.now() - startedAt, stopMeasuring()];
  return { status, stdout: stdout ?? "", stderr: stderr ?? "", tookMs, queuedMs };
}

/**
 * Creates a directory in `parent` that all users can enter. The embedded Postgres needs that if root runs the
 * tests.
 */
export async function createDirectory(parent = scratchDirectory): Promise<string> {
  const directory = await mkdtemp(join(parent, "latchkey-test-"));
  await chmod(directory, 0o755);
  return directory;
}
