import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, startTestCluster } from "@latchkey/db/testing/test-cluster";
import pg from "pg";
import { createDirectory, projectRoot } from "../../support/product.ts";
import { readParent } from "../measure/processor-time.ts";
import { readSettings, type Settings } from "./settings.ts";

/** How a database is reached; the names are those of pg. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** One embedded Postgres of the product's for the whole run, with a database for each case. */
export interface Ground {
  /** A directory on the disk of the cluster. */
  readonly directory: string;
  readonly postmaster: number;
  readonly settings: Settings;
  /** For what the runner itself asks, outside the databases under load. */
  readonly admin: pg.Client;
  /** Makes an empty database. */
  readonly createDatabase: (name: string) => Promise<DatabaseAddress>;
  /** Stops Postgres and removes all of it. */
  readonly close: () => Promise<void>;
}

/** @throws an Error when a setting that durability needs is off. */
export async function openGround(): Promise<Ground> {
  const directory = await createDirectoryOnDisk();
  await using failed = new AsyncDisposableStack();
  failed.defer(() => rm(directory, { recursive: true, force: true }));
  const cluster = await startTestCluster({ parent: directory });
  failed.defer(() => cluster.stop());
  const admin = new pg.Client(cluster.connection);
  admin.on("error", () => undefined); // The next question fails.
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

/** The address as `DATABASE_URL` has it. */
export function urlOf({ host, user, password, database }: DatabaseAddress): string {
  return `postgres://${user}:${encodeURIComponent(password)}@${encodeURIComponent(host)}/${database}`;
}

/** tmpfs and ramfs, in which a flush costs nothing. @see statfs(2) */
const memoryFileSystems = new Set([0x01021994, 0x858458f6]);

/** A fresh directory on a real disk: the system's for temporary files, or else one inside the project. */
async function createDirectoryOnDisk(): Promise<string> {
  const { type } = await statfs(tmpdir());
  if (!memoryFileSystems.has(type)) return await createDirectory(tmpdir());
  const parent = join(projectRoot, "node_modules/.cache");
  await mkdir(parent, { recursive: true });
  return await mkdtemp(join(parent, "bench-"));
}
