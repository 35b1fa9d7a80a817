import { AppError } from "@latchkey/errors";
import pg from "pg";
import { isDatabaseUnavailable, isNotAcceptingConnections } from "./sqlstate.ts";

/**
 * Translates a failure of Postgres, or of the connection to it, into an `AppError`: a database that is unreachable,
 * silent, overloaded or full is `SERVICE_UNAVAILABLE`. Undefined for everything else, which is a bug or a case that
 * the query's author must handle.
 */
export function databaseFailure(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const isAway = isDatabaseUnavailable(error) || isConnectionFailure(error);
  return isAway ? new AppError("SERVICE_UNAVAILABLE", { cause: error, retryAfterSeconds: 1 }) : undefined;
}

/** Whether the database may just not be up yet: nobody listens, or who does accepts no connections yet. */
export function isDatabaseNotUp(error: unknown): boolean {
  return isConnectionFailure(error) || isNotAcceptingConnections(error);
}

/** Whether the database could not be reached, or stopped responding: a failure of the network or of the driver. */
function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof pg.DatabaseError) return false;
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return networkCodes.has(code) || clientMessages.some((message) => error.message.includes(message));
}

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
