import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { openCluster } from "../src/embedded/open-cluster.ts";
import { scratchDirectory } from "../src/testing/scratch-directory.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The data directory of a cluster that no process uses, and that has no login role yet. Tests copy it. */
    stoppedCluster: string;
  }
}

/**
 * Creates a cluster for the tests that need one of their own, but aren't about its creation: `initdb` takes ten times as long
 * as a copy. Returns a function that removes it.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDirectory = await mkdtemp(join(scratchDirectory, "latchkey-test-"));
  const cluster = await openCluster({ dataDirectory });
  await cluster.close();
  project.provide("stoppedCluster", dataDirectory);
  return () => rm(dataDirectory, { recursive: true, force: true });
}
