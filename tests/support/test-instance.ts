import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { InProcessNode } from "./node-in-process.ts";
import { clusterOf, eventually, findPostmaster, isAlive, isPostmasterOf } from "./postmaster.ts";
import {
  createDirectory,
  type ProcessResult,
  type ProductNode,
  runNode,
  type SpawnOptions,
  startNode,
  type Variables,
} from "./product.ts";

/**
 * A temporary data directory and the processes that were started on it. `close` stops and deletes all of them, even
 * if a test failed.
 */
export interface TestInstance {
  /** The parent of the data directory. It exists before the data directory. */
  readonly directory: string;
  readonly dataDirectory: string;
  readonly cluster: string;
  /** Starts a node and waits until it is ready. Its deadlines are those of the instance by default. */
  readonly start: (variables?: Variables, options?: SpawnOptions) => Promise<ProductNode>;
  /** Starts a node in the test's process, for tests of everything except processes: signals, output and crashes. */
  readonly startInProcess: () => Promise<InProcessNode>;
  /** Starts a node that is expected to exit. */
  readonly run: (variables?: Variables) => Promise<ProcessResult>;
  /** Runs the `latchkey` command in the test's process. */
  readonly command: (args: readonly string[], input?: string) => Promise<ProcessResult>;
  readonly close: () => Promise<void>;
}

/**
 * @param variables the default environment variables of all its processes.
 * @param options.deadlines the default deadlines of nodes in processes of their own.
 */
export async function createTestInstance(
  variables: Variables = {},
  { deadlines = "product" }: Pick<SpawnOptions, "deadlines"> = {},
): Promise<TestInstance> {
  const directory = await createDirectory();
  const dataDirectory = join(directory, "data");
  const cluster = clusterOf(dataDirectory);
  const shared = { DATA_DIR: dataDirectory, ...variables };
  const nodes: { readonly stop: () => Promise<unknown> }[] = [];
  return {
    directory,
    dataDirectory,
    cluster,
    async start(own, options) {
      const node = await startNode({ ...shared, ...own }, { deadlines, ...options });
      nodes.push(node);
      return node;
    },
    async startInProcess() {
      // Loaded only on use, because loading takes a second and not every test file needs it.
      const { startNodeInProcess } = await import("./node-in-process.ts");
      const node = await startNodeInProcess(shared);
      nodes.push(node);
      return node;
    },
    run: (own) => runNode({ ...shared, ...own }),
    async command(args, input) {
      // Loaded only on use, because loading takes a second and few test files need it.
      const { runCommandInProcess } = await import("./command.ts");
      return await runCommandInProcess(args, shared, input);
    },
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
      await endPostgres(cluster);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Stops a Postgres that a failed test left running. Without its files, it would run forever. */
async function endPostgres(cluster: string): Promise<void> {
  const pid = await findPostmaster(cluster);
  if (pid === undefined || !(await isPostmasterOf(pid, cluster))) return;
  process.kill(pid, "SIGINT");
  await eventually("Postgres ends", async () => !(await isAlive(pid)));
}
