import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

export const projectRoot = resolve(import.meta.dirname, "../..");

/** A node of the product as a process of its own. */
export interface ProductNode {
  readonly baseUrl: string;
  readonly process: ChildProcess;
  /** Everything it has printed so far, on both streams. */
  readonly output: () => string;
  /** Ends it, the polite way unless told otherwise, and waits until it is gone; the exit status. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

export type Variables = Readonly<Record<string, string>>;

/** What a process of ours needs of the environment; nothing else leaks in from whoever runs the tests. */
export const bareEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C.UTF-8" } as const;

const readyLine = /Latchkey .* is ready at (\S+)/;
const startTimeoutMs = 60_000;

/**
 * Starts a node with these variables, on a free port unless they name one, and waits until it says that it is ready.
 * @throws an Error with its output when it ends first, or says nothing for 60 s.
 */
export async function startNode(variables: Variables): Promise<ProductNode> {
  const child = spawnNode(variables);
  const lines: string[] = [];
  const output = (): string => lines.join("\n");
  const baseUrl = await new Promise<string>((found, failed) => {
    const timer = setTimeout(() => failed(new Error(`Not ready in time:\n${output()}`)), startTimeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        const address = readyLine.exec(line)?.[1];
        if (address) found(address);
        if (address) clearTimeout(timer);
      });
    }
    child.once("close", (code) => {
      clearTimeout(timer);
      failed(new Error(`It ended with status ${code}:\n${output()}`));
    });
  });
  return {
    baseUrl,
    process: child,
    output,
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await once(child, "exit");
      }
      return child.exitCode;
    },
  };
}

/** Starts a node without waiting for anything. */
export function spawnNode(variables: Variables): ChildProcess {
  return spawn(process.execPath, [join(projectRoot, "apps/api/src/main.ts")], {
    cwd: projectRoot,
    env: { ...bareEnvironment, PORT: "0", ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A fresh directory that any user of the machine may pass through, as the embedded Postgres must for root. */
export async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
  await chmod(directory, 0o755);
  return directory;
}

/** A node with a data directory of its own; both are gone after `stop`. */
export async function startProduct(
  variables: Variables = {},
): Promise<{ readonly baseUrl: string; readonly dataDirectory: string; readonly stop: () => Promise<void> }> {
  const directory = await createDirectory();
  const dataDirectory = join(directory, "data");
  const node = await startNode({ DATA_DIR: dataDirectory, ...variables });
  return {
    baseUrl: node.baseUrl,
    dataDirectory,
    async stop() {
      await node.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
