import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";
import { prepareLoginRole } from "../embedded/login-role.ts";
import { migrate } from "../migrate.ts";
import type { Db } from "../schema.ts";
import { createDatabase, dropDatabase, setDatabaseAvailable, setDatabaseReadOnly } from "./test-cluster.ts";
import { openTestPool } from "./test-connection.ts";

/** A database for one test file, with the newest schema and nothing in it. */
export interface TestDatabase {
  readonly connection: ClusterConnection;
  /** Under row-level security, as in the product. */
  readonly db: Db;
  /** As the superuser, without row-level security, to prepare and check test data. */
  readonly owner: Db;
  /** Ends all sessions of the database and allows no new ones, or allows them again. */
  readonly setAvailable: (isAvailable: boolean) => Promise<void>;
  /** Ends all sessions of the database and makes new ones read-only, as on a standby, or makes new ones writable again. */
  readonly setReadOnly: (isReadOnly: boolean) => Promise<void>;
  /** Closes both, and drops the database with all other sessions. */
  readonly drop: () => Promise<void>;
}

/** The name of the database that {@link createTestDatabase} copies. */
export const migratedTemplate = "migrated_template";
/** How often to try to connect again: 20 s. */
const maxAttempts = 1_000;

/**
 * Migrates the template that {@link createTestDatabase} copies. A copy takes less than half the time of the migrations.
 * Its tables belong to the product's login role, which isn't a superuser. Foreign keys with `on delete cascade` run as the
 * owner of the table, and triggers with them, so they are subject to row-level security in tests as in the product.
 */
export async function createTestTemplate(postgres: ClusterConnection): Promise<void> {
  await createDatabase(postgres, migratedTemplate);
  const superuser = { ...postgres, database: migratedTemplate };
  await migrate(superuser);
  await prepareLoginRole(superuser);
}

/** Creates a database on the cluster that the global setup provides as `postgres`. Requires `createTestTemplate`. */
export async function createTestDatabase(postgres: ClusterConnection): Promise<TestDatabase> {
  const connection = { ...postgres, database: `test_${randomUUID()}` };
  await createDatabase(postgres, connection.database, migratedTemplate);
  const db = openTestPool(connection, { applicationName: "latchkey test" });
  const owner = openTestPool(connection, { applicationName: "latchkey test owner", role: "login" });
  return {
    connection,
    db,
    owner,
    async setAvailable(isAvailable) {
      await setDatabaseAvailable(postgres, connection.database, isAvailable);
      if (isAvailable) for (const pool of [db, owner]) await untilConnected(pool);
    },
    async setReadOnly(isReadOnly) {
      await setDatabaseReadOnly(postgres, connection.database, isReadOnly);
      if (!isReadOnly) for (const pool of [db, owner]) await untilConnected(pool);
    },
    async drop() {
      await db.destroy();
      await owner.destroy();
      await dropDatabase(postgres, connection.database);
    },
  };
}

/** Waits until a pool has noticed that its connections were ended, and has a new one. */
async function untilConnected(db: Db): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    try {
      await sql`select`.execute(db);
      return;
    } catch {
      await delay(20);
    }
  }
  throw new Error("The pool doesn't connect again.");
}
