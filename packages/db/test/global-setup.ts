import type { TestProject } from "vitest/node";
import type { ClusterConnection } from "../src/embedded/cluster-connection.ts";
import { startTestCluster } from "../src/testing/test-cluster.ts";
import { createTestTemplate } from "../src/testing/test-database.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The cluster of this run; tests create databases of their own on it. */
    postgres: ClusterConnection;
  }
}

/** Starts one cluster for all test files; what it answers stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startTestCluster();
  await createTestTemplate(cluster.connection);
  project.provide("postgres", cluster.connection);
  return cluster.stop;
}
