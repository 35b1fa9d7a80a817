import { AppError } from "@latchkey/errors";
import pg from "pg";
import { isDatabaseUnavailable, isNotAcceptingConnections, isServerUnavailable } from "./sqlstate.ts";

/**
 * Translates a failure of Postgres, or of the connection to it, into an `AppError`: a database that is unreachable,
 * unresponsive, overloaded or full is `SERVICE_UNAVAILABLE`. Returns undefined for any other error, which is a bug or
 * must be handled by the caller.
 */
export function databaseFailure(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const isDown = isDatabaseUnavailable(error) || isConnectionFailure(error);
  return isDown ? new AppError("SERVICE_UNAVAILABLE", { cause: error, retryAfterSeconds: 1 }) : undefined;
}

/**
 * Whether a failure means that the database is unavailable to everyone. A statement or lock timeout doesn't, and neither
 * does a wait for a free connection of a pool: slow queries cause those on a healthy database.
 */
export function isDatabaseOutage(error: unknown): boolean {
  if (isServerUnavailable(error)) return true;
  return isConnectionFailure(error) && !(error instanceof Error && error.message.includes(poolWait));
}

/** Whether the database may still be starting: nothing listens, or the server does not accept connections yet. */
export function isDatabaseStarting(error: unknown): boolean {
  return isConnectionFailure(error) || isNotAcceptingConnections(error);
}

/** Whether Postgres didn't respond to a statement within the driver's timeout. It may still execute the statement. */
export function isResponseTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === responseTimeout;
}

/** Whether the database could not be reached, or stopped responding: a failure of the network or of the driver. */
function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof pg.DatabaseError) return false;
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  // If an HTTP client disconnects while it sends a body, Node's error has the same code as a broken connection to
  // Postgres.
  if (error.message === "aborted") return false;
  // The failure of a file has a path. That of a Unix socket has the same code and no path.
  if ("path" in error) return false;
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

/** The pool's message when no connection became free in time. */
const poolWait = "timeout exceeded when trying to connect";

/** The driver's message when a statement takes longer than `query_timeout`. */
const responseTimeout = "Query read timeout";

// The driver has no codes for these.
const clientMessages = [
  "Connection terminated",
  poolWait,
  "timeout expired",
  responseTimeout,
  "Client has encountered a connection error",
  "Client was closed",
];
