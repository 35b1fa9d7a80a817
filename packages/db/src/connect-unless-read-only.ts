import type pg from "pg";
import { readOnlyServer } from "./sqlstate.ts";

/** A setting that Postgres reports when a connection opens. If it is on, the server, or the session, is read-only. */
export type ReadOnlySetting = "in_hot_standby" | "default_transaction_read_only";

/** A setting with its value, as the driver passes it on. */
interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * Opens a connection, and ends it if Postgres reports that one of the settings is on. This takes no statement.
 * @param client has never been connected.
 * @param connect connects the client; `client.connect` by default.
 * @throws what `connect` throws, and the failure of {@link readOnlyServer} if a setting is on
 */
export async function connectUnlessReadOnly(
  client: pg.Client,
  settings: readonly ReadOnlySetting[],
  connect: () => Promise<unknown> = () => client.connect(),
): Promise<void> {
  const reported = new Map<string, string>();
  client.connection.on("parameterStatus", ({ parameterName, parameterValue }: ParameterStatus) => {
    reported.set(parameterName, parameterValue);
  });
  await connect();
  if (!settings.some((name) => reported.get(name) === "on")) return;
  void client.end();
  throw readOnlyServer();
}
