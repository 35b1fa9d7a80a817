import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";

/** Runs `work` on a connection in the login role. */
export async function withLoginRole(
  connection: DatabaseConnection,
  applicationName: string,
  work: (db: Db) => Promise<void>,
): Promise<void> {
  const db = openDatabase(connection, { applicationName, maxConnections: 1, role: "login" });
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}
