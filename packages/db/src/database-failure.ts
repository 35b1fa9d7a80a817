import { AppError } from "@latchkey/errors";
import pg from "pg";

/**
 * Translates what Postgres or the way to it did into an `AppError`, where that is certain: a database that is
 * away, silent, overloaded or full is `SERVICE_UNAVAILABLE`. Undefined for everything else, which is a bug
 * or a case that the query's author must name.
 */
export function databaseFailure(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const isAway =
    error instanceof pg.DatabaseError
      ? unavailableStates.some((state) => code.startsWith(state))
      : networkCodes.has(code) || clientMessages.some((message) => error.message.includes(message));
  return isAway ? new AppError("SERVICE_UNAVAILABLE", { cause: error, retryAfterSeconds: 1 }) : undefined;
}

/** Whether the error is a violation of the unique constraint or index with this name. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === "23505" && error.constraint === constraint;
}

/**
 * SQLSTATEs, by their beginning: broken connections, resources (disk, memory, connections) used up, the
 * operator's interventions (shutdown, crash, statement timeout), a lock not had in time, a read-only standby,
 * a database closed to connections, a role that may not enter.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const unavailableStates = ["08", "53", "57", "58", "55P03", "55000", "25006", "25P03", "28"];

const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOENT",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

// The driver has no codes for these.
const clientMessages = [
  "Connection terminated",
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Query read timeout",
  "Client has encountered a connection error",
  "Client was closed",
];
