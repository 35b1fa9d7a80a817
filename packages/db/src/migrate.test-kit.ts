import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { inject, onTestFinished } from "vitest";
import type { ClusterConnection } from "./embedded/cluster-connection.ts";
import type { Db } from "./schema.ts";
import { createDatabase, dropDatabase } from "./testing/test-cluster.ts";
import { openTestPool } from "./testing/test-connection.ts";
import { migratedTemplate } from "./testing/test-database.ts";

/** A database, and a superuser's connection to it. */
export interface BareDatabase {
  readonly connection: ClusterConnection;
  readonly db: Db;
}

/** Creates a copy of a template. It is removed when the test ends. */
export async function copyTemplate(template: string): Promise<BareDatabase> {
  const database = await createCopy(template);
  onTestFinished(async () => {
    await database.db.destroy();
    await dropDatabase(inject("postgres"), database.connection.database);
  });
  return database;
}

/** Creates a database without a schema. It is removed when the test ends. */
export function createEmptyDatabase(): Promise<BareDatabase> {
  return copyTemplate("template1");
}

/** Creates a database with the newest schema and nothing in it. It is removed when the test ends. */
export function createMigratedDatabase(): Promise<BareDatabase> {
  return copyTemplate(migratedTemplate);
}

/** Creates a template for the tests of a file, in `beforeAll`. The template is removed when the cluster of the test run is. */
export async function createTemplate(
  prepare: (database: BareDatabase) => Promise<void>,
  base = "template1",
): Promise<string> {
  const database = await createCopy(base);
  await prepare(database);
  // Nobody may be connected to a template that is copied.
  await database.db.destroy();
  return database.connection.database;
}

async function createCopy(template: string): Promise<BareDatabase> {
  const postgres = inject("postgres");
  const connection = { ...postgres, database: `migrate_${randomUUID()}` };
  await createDatabase(postgres, connection.database, template);
  return { connection, db: openTestPool(connection, { applicationName: "test", role: "login" }) };
}

/** A login role that is not a superuser. */
export type Owner = Pick<ClusterConnection, "user" | "password">;

/**
 * Creates a login role that can own databases, with the product's roles granted. They exist, because the test run's
 * template was migrated.
 */
export async function createOwner(db: Db, membership = ""): Promise<Owner> {
  const owner = { user: `owner_${randomUUID()}`, password: "a password for tests" };
  await sql`create role ${sql.id(owner.user)} login password ${sql.lit(owner.password)}`.execute(db);
  await sql`
    grant latchkey_tenant, latchkey_admission to ${sql.id(owner.user)} ${sql.raw(membership)}`.execute(db);
  return owner;
}

/** Makes a role the owner of a database. Returns its connection. */
export async function giveDatabase(
  { connection, db }: BareDatabase,
  { user, password }: Owner,
): Promise<ClusterConnection> {
  await sql`alter database ${sql.id(connection.database)} owner to ${sql.id(user)}`.execute(db);
  return { ...connection, user, password };
}
