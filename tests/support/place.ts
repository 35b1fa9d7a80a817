import { rm } from "node:fs/promises";
import { join } from "node:path";
import { clusterOf, eventually, findPostmaster, isAlive } from "./postmaster.ts";
import {
  createDirectory,
  type Ending,
  type ProductNode,
  runNode,
  type SpawnOptions,
  startNode,
  type Variables,
} from "./product.ts";

/** A data directory of its own and every process that was started on it, all gone after `close`, also when a test fails. */
export interface Place {
  /** Holds the data directory, and is there before it. */
  readonly directory: string;
  readonly dataDirectory: string;
  readonly cluster: string;
  /** Starts a node and waits until it is ready. */
  readonly start: (variables?: Variables, options?: SpawnOptions) => Promise<ProductNode>;
  /** Starts a node that is expected to end by itself. */
  readonly run: (variables?: Variables) => Promise<Ending>;
  /** Runs the `latchkey` command in the test's own process. */
  readonly command: (args: readonly string[], input?: string) => Promise<Ending>;
  readonly close: () => Promise<void>;
}

/** @param variables what all of its processes get, unless told otherwise. */
export async function createPlace(variables: Variables = {}): Promise<Place> {
  const directory = await createDirectory();
  const dataDirectory = join(directory, "data");
  const cluster = clusterOf(dataDirectory);
  const shared = { DATA_DIR: dataDirectory, ...variables };
  const nodes: ProductNode[] = [];
  return {
    directory,
    dataDirectory,
    cluster,
    async start(own, options) {
      const node = await startNode({ ...shared, ...own }, options);
      nodes.push(node);
      return node;
    },
    run: (own) => runNode({ ...shared, ...own }),
    async command(args, input) {
      // Few files of tests use it, and loading it takes a second.
      const { runCommandHere } = await import("./command.ts");
      return await runCommandHere(args, shared, input);
    },
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
      await endPostgres(cluster);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Ends a Postgres that a failed test left behind: with its files gone it would run for ever. */
async function endPostgres(cluster: string): Promise<void> {
  const pid = await findPostmaster(cluster);
  if (pid === undefined || !(await isAlive(pid))) return;
  process.kill(pid, "SIGINT");
  await eventually("Postgres ends", async () => !(await isAlive(pid)), 20_000);
}
