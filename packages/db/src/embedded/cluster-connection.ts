import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { socketDirectoryOf, socketPort } from "./socket-directory.ts";

/** How to connect to a database of a cluster. The names are those of pg's options. */
export interface ClusterConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** A Unix socket needs no encryption, and without this, pg would also apply $PGSSLMODE to it. */
  readonly ssl: false;
}

/** The superuser that initdb creates. Only the code that supervises the cluster connects as this role. */
export const superuserName = "latchkey";

/** The database of the application. */
const databaseName = "latchkey";

/** The file with the superuser's password; readable only by the account that runs Postgres. */
export function passwordPath(cluster: string): string {
  return join(cluster, "latchkey.password");
}

/**
 * Reads how the superuser connects to the application's database.
 * @throws EmbeddedPostgresError `start-failed` if the password file can't be read
 */
export async function readSuperuserConnection(cluster: string): Promise<ClusterConnection> {
  return {
    host: socketDirectoryOf(cluster),
    port: socketPort,
    user: superuserName,
    password: await readPassword(passwordPath(cluster)),
    database: databaseName,
    ssl: false,
  };
}

async function readPassword(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new EmbeddedPostgresError(
      "start-failed",
      `The password of the embedded Postgres cannot be read from ${path}.`,
      { cause: error },
    );
  }
}
