import pg from "pg";

/**
 * The SQLSTATEs that Latchkey acts on, under the names that Postgres gives them.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const state = {
  readOnlySqlTransaction: "25006",
  idleInTransactionSessionTimeout: "25P03",
  invalidSqlStatementName: "26000",
  invalidParameterValue: "22023",
  invalidCatalogName: "3D000",
  foreignKeyViolation: "23503",
  uniqueViolation: "23505",
  serializationFailure: "40001",
  deadlockDetected: "40P01",
  insufficientPrivilege: "42501",
  duplicateDatabase: "42P04",
  duplicatePreparedStatement: "42P05",
  tooManyConnections: "53300",
  objectNotInPrerequisiteState: "55000",
  lockNotAvailable: "55P03",
  queryCanceled: "57014",
  adminShutdown: "57P01",
  crashShutdown: "57P02",
  cannotConnectNow: "57P03",
} as const;

/** Classes of SQLSTATEs, which are their first two characters. */
const stateClass = {
  connectionException: "08",
  invalidAuthorization: "28",
  insufficientResources: "53",
  operatorIntervention: "57",
  systemError: "58",
} as const;

const unavailable: ReadonlySet<string> = new Set([
  ...Object.values(stateClass),
  state.lockNotAvailable,
  state.objectNotInPrerequisiteState,
  state.readOnlySqlTransaction,
  state.idleInTransactionSessionTimeout,
  state.deadlockDetected,
  state.serializationFailure,
]);

/** These are caused by one slow statement, one lock, one idle transaction, or two transactions that conflict. */
const limitedToStatement: ReadonlySet<string> = new Set([
  state.queryCanceled,
  state.lockNotAvailable,
  state.deadlockDetected,
  state.serializationFailure,
  state.idleInTransactionSessionTimeout,
]);

const definiteAborts: ReadonlySet<string> = new Set([
  state.deadlockDetected,
  state.serializationFailure,
  state.lockNotAvailable,
  state.invalidSqlStatementName,
  state.duplicatePreparedStatement,
]);

const notAccepting: ReadonlySet<string> = new Set([
  state.cannotConnectNow,
  state.adminShutdown,
  state.crashShutdown,
  state.tooManyConnections,
]);

const missingRoleOrPrivilege: ReadonlySet<string> = new Set([
  state.insufficientPrivilege,
  state.invalidParameterValue,
]);

const databaseExists: ReadonlySet<string> = new Set([state.duplicateDatabase, state.uniqueViolation]);

/** The SQLSTATE of an error that Postgres sent; undefined for every other error. */
function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

function hasSqlState(states: ReadonlySet<string>, error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== undefined && (states.has(code) || states.has(code.slice(0, 2)));
}

/**
 * Whether Postgres can't serve the statement at the moment, through no fault of the statement: the connection broke,
 * resources (disk, memory, connections) ran out, the operator intervened (shutdown, crash, statement timeout), a lock
 * was not acquired in time, the transaction was rolled back because it conflicted with another one (deadlock,
 * serialization failure), the server is a read-only standby, the database accepts no connections, or the login was
 * rejected.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return hasSqlState(unavailable, error);
}

/** Whether Postgres can't serve any statement at the moment, as opposed to this one. */
export function isServerUnavailable(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !hasSqlState(limitedToStatement, error);
}

/** Whether a statement failed because the server, or the session, is read-only: it is a standby, for example. */
export function isReadOnlyServer(error: unknown): boolean {
  return sqlStateOf(error) === state.readOnlySqlTransaction;
}

/** The failure of a connection to a read-only server, on which no statement was sent. */
export function readOnlyServer(): Error {
  const error = new pg.DatabaseError("The server is read-only.", 0, "error");
  return Object.assign(error, { code: state.readOnlySqlTransaction });
}

/**
 * Whether the statement certainly changed nothing, so that it may be sent again: Postgres rolled it back (deadlock,
 * serialization failure, lock timeout), or never started it because the pipelined statement that was to prepare it
 * failed. A canceled statement or a broken connection is not in this class: its COMMIT may have succeeded.
 */
export function isDefiniteAbort(error: unknown): boolean {
  return hasSqlState(definiteAborts, error);
}

/** Whether a server responds but does not accept connections, because it is starting, stopping or full. */
export function isNotAcceptingConnections(error: unknown): boolean {
  return hasSqlState(notAccepting, error);
}

/** Whether a server rejects all connections for now, because it is starting, recovering or stopping. */
export function isNotReady(error: unknown): boolean {
  return sqlStateOf(error) === state.cannotConnectNow;
}

/** Whether the login may not do this: it lacks the privilege, or the role it was to assume does not exist. */
export function isMissingRoleOrPrivilege(error: unknown): boolean {
  return hasSqlState(missingRoleOrPrivilege, error);
}

/** Whether the database of a connection doesn't exist. */
export function isDatabaseMissing(error: unknown): boolean {
  return sqlStateOf(error) === state.invalidCatalogName;
}

/** Whether a lock was not acquired within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === state.lockNotAvailable;
}

/** Whether a statement was canceled, for example because it took longer than `statement_timeout`. */
export function isQueryCanceled(error: unknown): boolean {
  return sqlStateOf(error) === state.queryCanceled;
}

/** Whether a transaction was rolled back because of a concurrent change, as `reject_outdated_batch` reports. */
export function isSerializationFailure(error: unknown): boolean {
  return sqlStateOf(error) === state.serializationFailure;
}

/** Whether a statement would have violated a unique index. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === state.uniqueViolation;
}

/** Whether a statement refers to a row that doesn't exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return sqlStateOf(error) === state.foreignKeyViolation;
}

/** Whether the database to create already exists. Concurrent creations can also violate the unique index. */
export function isDatabaseDuplicate(error: unknown): boolean {
  return hasSqlState(databaseExists, error);
}
