import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, escapeIdentifier } from "pg";
import { openEmbeddedPostgres } from "../embedded/embedded-postgres.ts";
import type { ClusterConnection } from "../embedded/presence.ts";

/** A cluster that exists for one run of tests. */
export interface TestCluster {
  readonly connection: ClusterConnection;
  /** Stops Postgres and removes all of its data. */
  readonly stop: () => Promise<void>;
}

/** Starts an embedded cluster of its own in a fresh directory below the system's for temporary files. */
export async function startTestCluster(): Promise<TestCluster> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
  const postgres = await openEmbeddedPostgres({ dataDirectory: directory });
  return {
    connection: postgres.connection,
    async stop() {
      await postgres.close();
      // It is elsewhere when root's Postgres cannot reach the directory for temporary files.
      await rm(postgres.location.directory, { recursive: true, force: true });
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Creates a database on a cluster, as a copy of `template` (to which nobody may be connected) if given. */
export async function createDatabase(
  connection: ClusterConnection,
  name: string,
  template = "template1",
): Promise<void> {
  await execute(
    connection,
    `create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)}`,
  );
}

/** Drops a database, ending the sessions in it; one that is not there is no error. */
export async function dropDatabase(connection: ClusterConnection, name: string): Promise<void> {
  await execute(connection, `drop database if exists ${escapeIdentifier(name)} with (force)`);
}

async function execute(connection: ClusterConnection, sql: string): Promise<void> {
  const client = new Client({ ...connection, database: "postgres" });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
