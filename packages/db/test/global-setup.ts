import type { TestProject } from "vitest/node";
import type { ClusterConnection } from "../src/embedded/cluster-connection.ts";
import { startTestCluster, stopAutovacuum } from "../src/testing/test-cluster.ts";
import { createTestTemplate } from "../src/testing/test-database.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The cluster of this test run, on which tests create their own databases. */
    postgres: ClusterConnection;
  }
}

/** Starts one cluster for all test files. Returns a function that stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startTestCluster();
  await stopAutovacuum(cluster.connection);
  await createTestTemplate(cluster.connection);
  project.provide("postgres", cluster.connection);
  return cluster.stop;
}
