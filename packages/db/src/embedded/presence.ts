import { Client } from "pg";
import { isDatabaseDuplicate, isNotAcceptingConnections, isNotReady } from "../sqlstate.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";

/** Marks a running cluster as used by this process: a shared lock that an idle connection holds. */
export interface Presence {
  /** Settles when the connection has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Creates the application's database unless it exists. */
  readonly createDatabase: (name: string) => Promise<void>;
  /** Releases the lock. Returns true if no other process is present. Until `end`, no other process can then join. */
  readonly leave: () => Promise<boolean>;
  readonly end: () => Promise<void>;
}

/**
 * `absent`: no server listens. `starting`: a server listens, and is starting or recovering. `busy`: a server listens, and
 * is stopping, about to be stopped or full, or doesn't answer.
 */
export type JoinAttempt =
  | { readonly kind: "present"; readonly presence: Presence }
  | { readonly kind: "absent" }
  | { readonly kind: "starting"; readonly reason: string }
  | { readonly kind: "busy"; readonly reason: string };

const answerWithinMilliseconds = 10_000;

/** "latchkey" as a number; any constant would do. */
export const presenceLock = "7809644653498852729";

/**
 * Tries once to take the shared lock that marks a cluster as in use.
 * @throws EmbeddedPostgresError `start-failed` if the server permanently rejects the connection
 */
export async function tryJoin(connection: ClusterConnection): Promise<JoinAttempt> {
  const client = new Client({
    ...connection,
    // Every cluster has this database, and a connection to it doesn't prevent another database from being copied or
    // dropped.
    database: "postgres",
    application_name: "latchkey presence",
    connectionTimeoutMillis: answerWithinMilliseconds,
    query_timeout: answerWithinMilliseconds,
  });
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  // `ended` reports the end of the connection. Without this listener, its cause would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    if (await queryLock(client, "select pg_try_advisory_lock_shared($1) as answer")) {
      return { kind: "present", presence: createPresence(client, ended) };
    }
    // Not awaited, here and below, because nothing depends on when the connection ends.
    client.end().catch(() => {});
    return { kind: "busy", reason: "it is being stopped" };
  } catch (error) {
    client.end().catch(() => {});
    return classifyFailure(error);
  }
}

function createPresence(client: Client, ended: Promise<void>): Presence {
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
      // Releases the shared lock first. Otherwise, if two processes leave at the same time, neither gets the exclusive
      // lock.
      await queryLock(client, "select pg_advisory_unlock_shared($1) as answer");
      return await queryLock(client, "select pg_try_advisory_lock($1) as answer");
    },
    end: () => client.end(),
  };
}

async function queryLock(client: Client, sql: string): Promise<boolean> {
  const { rows } = await client.query<{ answer: boolean }>(sql, [presenceLock]);
  return rows[0]?.answer === true;
}

function classifyFailure(error: unknown): JoinAttempt {
  const code = errorCode(error) ?? "";
  if (["ENOENT", "ECONNREFUSED"].includes(code)) return { kind: "absent" };
  // pg's error for a broken connection has no code.
  const isTransient =
    isNotAcceptingConnections(error) || ["ECONNRESET", "EPIPE", "EAGAIN", ""].includes(code);
  const reason = error instanceof Error ? error.message : String(error);
  // Postgres reports a shutdown with the same SQLSTATE.
  if (isNotReady(error) && !reason.includes("shutting down")) return { kind: "starting", reason };
  if (isTransient) return { kind: "busy", reason };
  throw new EmbeddedPostgresError(
    "start-failed",
    `The embedded Postgres rejects its superuser (${reason}).`,
    { cause: error },
  );
}
