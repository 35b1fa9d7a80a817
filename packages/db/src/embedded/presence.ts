import { Client } from "pg";
import { isDatabaseDuplicate, isNotAcceptingConnections } from "../sqlstate.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";

/** One process's sign on a running cluster that it is in use: a shared lock held by an idle connection. */
export interface Presence {
  /** Settles when the connection has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Creates the application's database unless it is there. */
  readonly createDatabase: (name: string) => Promise<void>;
  /** Gives up the lock; true when nobody else is present, who are then kept out until `end`. */
  readonly leave: () => Promise<boolean>;
  readonly end: () => Promise<void>;
}

/** `absent`: no server listens; `busy`: one does, and is starting, stopping or about to be stopped. */
export type JoinAttempt =
  | { readonly kind: "present"; readonly presence: Presence }
  | { readonly kind: "absent" }
  | { readonly kind: "busy"; readonly reason: string };

const answerWithinMilliseconds = 10_000;

/** "latchkey" as a number; any constant would do. */
export const presenceLock = "7809644653498852729";

/**
 * Tries once to be present on a cluster.
 * @throws EmbeddedPostgresError `start-failed` when a server answers that will never let us in
 */
export async function tryJoin(connection: ClusterConnection): Promise<JoinAttempt> {
  const client = new Client({
    ...connection,
    // Each cluster has this database, and no presence in it keeps another from being copied or dropped.
    database: "postgres",
    application_name: "latchkey presence",
    connectionTimeoutMillis: answerWithinMilliseconds,
    query_timeout: answerWithinMilliseconds,
    ssl: false,
  });
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  // The end is what counts; without a listener its cause would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    if (await ask(client, "select pg_try_advisory_lock_shared($1) as answer")) {
      return { kind: "present", presence: presenceOn(client, ended) };
    }
    // Not awaited, here and below: a connection that nothing depends on may take its time to end.
    client.end().catch(() => {});
    return { kind: "busy", reason: "it is being stopped" };
  } catch (error) {
    client.end().catch(() => {});
    return explain(error);
  }
}

function presenceOn(client: Client, ended: Promise<void>): Presence {
  return {
    ended,
    async createDatabase(name) {
      const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
      if (rowCount) return;
      try {
        await client.query(`create database ${client.escapeIdentifier(name)}`);
      } catch (error) {
        // Another process has just created it.
        if (!isDatabaseDuplicate(error)) throw error;
      }
    },
    async leave() {
      // Let go before trying: two that leave at once would otherwise each be in the other's way.
      await ask(client, "select pg_advisory_unlock_shared($1) as answer");
      return await ask(client, "select pg_try_advisory_lock($1) as answer");
    },
    end: () => client.end(),
  };
}

async function ask(client: Client, sql: string): Promise<boolean> {
  const { rows } = await client.query<{ answer: boolean }>(sql, [presenceLock]);
  return rows[0]?.answer === true;
}

function explain(error: unknown): JoinAttempt {
  const code = errorCode(error) ?? "";
  if (["ENOENT", "ECONNREFUSED"].includes(code)) return { kind: "absent" };
  // pg gives a connection that broke no code.
  const isTransient =
    isNotAcceptingConnections(error) || ["ECONNRESET", "EPIPE", "EAGAIN", ""].includes(code);
  const reason = error instanceof Error ? error.message : String(error);
  if (isTransient) return { kind: "busy", reason };
  throw new EmbeddedPostgresError(
    "start-failed",
    `The embedded Postgres rejects its superuser (${reason}).`,
    { cause: error },
  );
}
