import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, escapeIdentifier, escapeLiteral } from "pg";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";
import { findClusterLocation } from "../embedded/cluster-location.ts";
import { openCluster } from "../embedded/open-cluster.ts";
import { copyData } from "./copy-data.ts";
import { scratchDirectory } from "./scratch-directory.ts";

/** A cluster that exists for one run of tests. */
export interface TestCluster {
  /** The superuser's connection. */
  readonly connection: ClusterConnection;
  /** The directory of its data. */
  readonly directory: string;
  /** Stops Postgres and removes all of its data. */
  readonly stop: () => Promise<void>;
}

/** Starts a cluster in a new directory in `parent`, on a copy of `data` if given. */
export async function startTestCluster({
  parent = scratchDirectory,
  data,
}: {
  parent?: string;
  data?: string;
} = {}): Promise<TestCluster> {
  return await startIn(await createDirectory(parent, data));
}

/**
 * Starts a hot standby on a copy of `data`, the data directory of a cluster that was stopped: it accepts connections, and rejects
 * changes. It follows no primary.
 */
export async function startTestStandby(data: string): Promise<TestCluster> {
  const directory = await createDirectory(scratchDirectory, data);
  const { cluster, account } = await findClusterLocation(directory);
  const signal = join(cluster, "standby.signal");
  await writeFile(signal, "");
  if (account) await chown(signal, account.uid, account.gid);
  return await startIn(directory);
}

async function createDirectory(parent: string, data?: string): Promise<string> {
  const directory = await mkdtemp(join(parent, "latchkey-test-"));
  if (data) await copyData(data, directory);
  return directory;
}

async function startIn(directory: string): Promise<TestCluster> {
  const cluster = await openCluster({ dataDirectory: directory });
  return {
    connection: cluster.superuser,
    directory: cluster.location.directory,
    async stop() {
      await cluster.close();
      // The data is elsewhere if root runs the tests and Postgres can't access `parent`.
      await rm(cluster.location.directory, { recursive: true, force: true });
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Turns off autovacuum, which runs once per minute: the plan of a statement in a test, and with it the number of rows that the
 * statement reads, must not depend on whether the tables were analyzed before. Tests that need statistics analyze tables themselves.
 */
export async function stopAutovacuum(connection: ClusterConnection): Promise<void> {
  await execute(connection, "alter system set autovacuum = off");
  await execute(connection, "select pg_reload_conf()");
}

/** Creates a database on a cluster, as a copy of `template` (to which nobody may be connected) if given. */
export async function createDatabase(
  connection: ClusterConnection,
  name: string,
  template = "template1",
): Promise<void> {
  // Copying files takes half the processor time of Postgres's default, which writes every page to the log.
  await execute(
    connection,
    `create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)} strategy file_copy`,
  );
}

/** Drops a database and ends its sessions. A database that does not exist is not an error. */
export async function dropDatabase(connection: ClusterConnection, name: string): Promise<void> {
  await execute(connection, `drop database if exists ${escapeIdentifier(name)} with (force)`);
}

/** Ends all sessions of a database and allows no new ones, or allows them again. */
export async function setDatabaseAvailable(
  connection: ClusterConnection,
  name: string,
  isAvailable: boolean,
): Promise<void> {
  await execute(connection, `alter database ${escapeIdentifier(name)} allow_connections ${isAvailable}`);
  if (!isAvailable) await endSessions(connection, name);
}

/** Ends all sessions of a database and makes new ones read-only, as on a standby, or makes new ones writable again. */
export async function setDatabaseReadOnly(
  connection: ClusterConnection,
  name: string,
  isReadOnly: boolean,
): Promise<void> {
  await execute(
    connection,
    `alter database ${escapeIdentifier(name)} set default_transaction_read_only = ${isReadOnly}`,
  );
  if (isReadOnly) await endSessions(connection, name);
}

async function endSessions(connection: ClusterConnection, name: string): Promise<void> {
  await execute(
    connection,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = ${escapeLiteral(name)}`,
  );
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
