import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import {
  isDatabaseDuplicate,
  isDatabaseUnavailable,
  isDefiniteAbort,
  isForeignKeyViolation,
  isLockTimeout,
  isMissingRoleOrPrivilege,
  isNotAcceptingConnections,
  isReadOnlyServer,
  isSerializationFailure,
  isServerUnavailable,
  readOnlyServer,
} from "./sqlstate.ts";

// Codes and classes are literals here, so that a change to the module's tables fails a test.

const classes = {
  isDatabaseDuplicate,
  isDatabaseUnavailable,
  isDefiniteAbort,
  isForeignKeyViolation,
  isLockTimeout,
  isNotAcceptingConnections,
  isMissingRoleOrPrivilege,
  isReadOnlyServer,
  isServerUnavailable,
  isSerializationFailure,
};

function classify(error: unknown): string[] {
  return Object.entries(classes).flatMap(([name, isMember]) => (isMember(error) ? [name] : []));
}

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError("a message", 0, "error"), { code });
}

test.each([
  ["08000", "connection_exception", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["08006", "connection_failure", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["22001", "string_data_right_truncation", []],
  ["22023", "invalid_parameter_value", ["isMissingRoleOrPrivilege"]],
  ["23503", "foreign_key_violation", ["isForeignKeyViolation"]],
  ["23505", "unique_violation", ["isDatabaseDuplicate"]],
  [
    "25006",
    "read_only_sql_transaction",
    ["isDatabaseUnavailable", "isReadOnlyServer", "isServerUnavailable"],
  ],
  ["25P02", "in_failed_sql_transaction", []],
  ["25P03", "idle_in_transaction_session_timeout", ["isDatabaseUnavailable"]],
  ["26000", "invalid_sql_statement_name", ["isDefiniteAbort"]],
  ["28000", "invalid_authorization_specification", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["28P01", "invalid_password", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["3D000", "invalid_catalog_name", []],
  ["40001", "serialization_failure", ["isDatabaseUnavailable", "isDefiniteAbort", "isSerializationFailure"]],
  ["40003", "statement_completion_unknown", []],
  ["40P01", "deadlock_detected", ["isDatabaseUnavailable", "isDefiniteAbort"]],
  ["42501", "insufficient_privilege", ["isMissingRoleOrPrivilege"]],
  ["42601", "syntax_error", []],
  ["42P01", "undefined_table", []],
  ["42P04", "duplicate_database", ["isDatabaseDuplicate"]],
  ["42P05", "duplicate_prepared_statement", ["isDefiniteAbort"]],
  ["53100", "disk_full", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["53200", "out_of_memory", ["isDatabaseUnavailable", "isServerUnavailable"]],
  [
    "53300",
    "too_many_connections",
    ["isDatabaseUnavailable", "isNotAcceptingConnections", "isServerUnavailable"],
  ],
  ["55000", "object_not_in_prerequisite_state", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["55P03", "lock_not_available", ["isDatabaseUnavailable", "isDefiniteAbort", "isLockTimeout"]],
  ["57014", "query_canceled", ["isDatabaseUnavailable"]],
  ["57P01", "admin_shutdown", ["isDatabaseUnavailable", "isNotAcceptingConnections", "isServerUnavailable"]],
  ["57P02", "crash_shutdown", ["isDatabaseUnavailable", "isNotAcceptingConnections", "isServerUnavailable"]],
  [
    "57P03",
    "cannot_connect_now",
    ["isDatabaseUnavailable", "isNotAcceptingConnections", "isServerUnavailable"],
  ],
  ["58030", "io_error", ["isDatabaseUnavailable", "isServerUnavailable"]],
  ["XX000", "internal_error", []],
])("classifies %s, %s", (code, _name, expected) => {
  expect(classify(databaseError(code))).toEqual(expected);
});

test("the failure of a connection to a read-only server is classified like that of a statement", () => {
  expect(classify(readOnlyServer())).toEqual(classify(databaseError("25006")));
});

test("an error that Postgres did not send is in no class, whatever its code", () => {
  const network = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const lookalike = Object.assign(new Error("not from Postgres"), { code: "40P01" });
  for (const error of [network, lookalike, { code: "40P01" }, undefined]) expect(classify(error)).toEqual([]);
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(inject("postgres"));
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("a deadlock that Postgres detects is a definite abort", async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  // Advisory locks deadlock like row locks and need no table.
  const key = Number.parseInt(randomUUID().slice(0, 7), 16);
  for (const client of [first, second]) await client.query("begin; set local deadlock_timeout = '20ms'");
  await first.query("select pg_advisory_xact_lock($1, 1)", [key]);
  await second.query("select pg_advisory_xact_lock($1, 2)", [key]);
  const outcomes = await Promise.allSettled([
    first.query("select pg_advisory_xact_lock($1, 2)", [key]).finally(() => first.query("rollback")),
    second.query("select pg_advisory_xact_lock($1, 1)", [key]).finally(() => second.query("rollback")),
  ]);
  const victims = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(victims).toMatchObject([{ reason: { code: "40P01" } }]);
  expect(classify(victims[0]?.reason)).toEqual(["isDatabaseUnavailable", "isDefiniteAbort"]);
});

test("a serialization failure is a definite abort", async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  const table = `serialization_${randomUUID().replaceAll("-", "")}`;
  await first.query(`create table ${table} as select 1 as n`);
  onTestFinished(async () => {
    await (await connect()).query(`drop table ${table}`);
  });
  await first.query("begin isolation level repeatable read");
  await first.query(`select from ${table}`);
  await second.query(`update ${table} set n = 2`);
  const error = await first.query(`update ${table} set n = 3`).catch((thrown: unknown) => thrown);
  await first.query("rollback");
  expect(error).toMatchObject({ code: "40001" });
  expect(classify(error)).toEqual(["isDatabaseUnavailable", "isDefiniteAbort", "isSerializationFailure"]);
});
