import { randomUUID } from "node:crypto";
import { openDatabase } from "../connection.ts";
import type { ClusterConnection } from "../embedded/presence.ts";
import { migrate } from "../migrate.ts";
import type { Db } from "../schema.ts";
import { createDatabase, dropDatabase } from "./test-cluster.ts";

/** A database for one test file, with the newest schema and nothing in it. */
export interface TestDatabase {
  readonly connection: ClusterConnection;
  readonly db: Db;
  /** Closes `db` and removes the database, ending whoever else is connected to it. */
  readonly drop: () => Promise<void>;
}

/** Makes a database on the cluster that the global setup provides as `postgres`. */
export async function createTestDatabase(postgres: ClusterConnection): Promise<TestDatabase> {
  const connection = { ...postgres, database: `test_${randomUUID()}` };
  await createDatabase(postgres, connection.database);
  await migrate(connection);
  const db = openDatabase(connection, { applicationName: "latchkey test" });
  return {
    connection,
    db,
    async drop() {
      await db.destroy();
      await dropDatabase(postgres, connection.database);
    },
  };
}
