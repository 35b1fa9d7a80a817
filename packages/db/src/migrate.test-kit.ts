import { randomUUID } from "node:crypto";
import { inject, onTestFinished } from "vitest";
import { openDatabase } from "./connection.ts";
import type { ClusterConnection } from "./embedded/cluster-connection.ts";
import type { Db } from "./schema.ts";
import { createDatabase, dropDatabase } from "./testing/test-cluster.ts";

/** A database without a schema, and a superuser connection to it. Both are removed when the test ends. */
export async function createEmptyDatabase(): Promise<{
  readonly connection: ClusterConnection;
  readonly db: Db;
}> {
  const postgres = inject("postgres");
  const connection = { ...postgres, database: `migrate_${randomUUID()}` };
  await createDatabase(postgres, connection.database);
  const db = openDatabase(connection, { applicationName: "test", role: "login" });
  onTestFinished(async () => {
    await db.destroy();
    await dropDatabase(postgres, connection.database);
  });
  return { connection, db };
}
