import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, startTestCluster } from "@latchkey/db/testing/test-cluster";
import pg from "pg";
import { createDirectory, projectRoot } from "../../support/product.ts";
import { readParent } from "../measure/processor-time.ts";
import { readSettings, type Settings } from "./settings.ts";

/** Connection parameters, with the names that pg uses. */
export interface DatabaseConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Latchkey's embedded Postgres, one for the whole run, with a database for each case. */
export interface BenchCluster {
  /** A directory on the same disk as the cluster. */
  readonly directory: string;
  readonly postmaster: number;
  readonly settings: Settings;
  /** A connection for the runner's own queries, outside the databases under load. */
  readonly admin: pg.Client;
  /** Creates an empty database. */
  readonly createDatabase: (name: string) => Promise<DatabaseConnection>;
  /** Stops Postgres and deletes the cluster. */
  readonly close: () => Promise<void>;
}

/** @throws an Error if a setting that durability needs is off. */
export async function startBenchCluster(): Promise<BenchCluster> {
  const directory = await createDirectoryOnDisk();
  await using failed = new AsyncDisposableStack();
  failed.defer(() => rm(directory, { recursive: true, force: true }));
  const cluster = await startTestCluster({ parent: directory });
  failed.defer(() => cluster.stop());
  const admin = new pg.Client(cluster.connection);
  admin.on("error", () => undefined); // The next query fails.
  await admin.connect();
  failed.defer(() => admin.end());
  const settings = await readSettings(admin);
  const { rows } = await admin.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = await readParent(rows[0]?.pid ?? 0);
  const resources = failed.move();
  return {
    directory: cluster.directory,
    postmaster,
    settings,
    admin,
    async createDatabase(name) {
      await createDatabase(cluster.connection, name);
      return { ...cluster.connection, database: name };
    },
    close: () => resources.disposeAsync(),
  };
}

/** Formats the parameters as a `DATABASE_URL`. */
export function urlOf({ host, user, password, database }: DatabaseConnection): string {
  return `postgres://${user}:${encodeURIComponent(password)}@${encodeURIComponent(host)}/${database}`;
}

/** The types of tmpfs and ramfs, on which a flush costs nothing. @see statfs(2) */
const memoryFileSystems = new Set([0x01021994, 0x858458f6]);

/** Creates a directory on a disk: in the system's temporary directory, or if that is in memory, in the project. */
async function createDirectoryOnDisk(): Promise<string> {
  const { type } = await statfs(tmpdir());
  if (!memoryFileSystems.has(type)) return await createDirectory(tmpdir());
  const parent = join(projectRoot, "node_modules/.cache");
  await mkdir(parent, { recursive: true });
  return await mkdtemp(join(parent, "bench-"));
}
