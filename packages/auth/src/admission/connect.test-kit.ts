import { type DatabaseConnection, startupOptions } from "@latchkey/db/connection";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { sessionSettings } from "./session-settings.ts";

/** Connects as a node does for admission and verification. @param settings the settings of the session. */
export async function connectAsAdmission(
  connection: DatabaseConnection,
  settings: readonly string[] = sessionSettings,
): Promise<pg.Client> {
  const client = new pg.Client({
    ...testClientConfig(connection, "test"),
    options: startupOptions("latchkey_admission", settings),
  });
  await client.connect();
  return client;
}
